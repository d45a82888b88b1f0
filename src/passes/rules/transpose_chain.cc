// Merges Transpose(Transpose(x)) into one Transpose. Such pairs remain where layouts meet, and in attention with past
// keys (GPT-2, ConvNeXt).
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

std::optional<Patch> match_transpose_chain(const Graph& g, const Node& n) {
  const Node* first = producer_of(g, n.inputs[0], "Transpose");
  if (!first) return std::nullopt;
  const auto inner = ints_attribute(*first, "perm"), outer = ints_attribute(n, "perm");
  if (inner.empty() || inner.size() != outer.size()) return std::nullopt;
  std::vector<int64_t> perm;
  for (int64_t axis : outer) perm.push_back(inner.at(size_t(axis)));
  Patch p(g);
  Attributes attributes;
  attributes.set("perm", perm);
  p.replace(n.outputs[0], p.add({.type = "Transpose", .inputs = {first->inputs[0]}, .attributes = attributes}));
  p.covers({first->id, n.id});
  return p;
}

constexpr Rule kTransposeChainRules[] = {
    {"transpose_chain", "Transpose", match_transpose_chain, {RuleStage::cleanup, RuleStage::sink_transposes}},
};

}  // namespace

extern const Rules rules_transpose_chain;
constinit const Rules rules_transpose_chain{kTransposeChainRules};

}  // namespace retort
