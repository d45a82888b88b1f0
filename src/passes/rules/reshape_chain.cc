// Removes a Reshape, Flatten, Squeeze or Unsqueeze that is followed by a Reshape with constant target, unless the
// target copies its extents. Shortens the head splitting of ViT and GPT-2.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

std::optional<Patch> match_reshape_chain(const Graph& g, const Node& n) {
  const Node* first = g.producer(n.inputs[0]);
  if (!first || !first->op || !first->domain.empty()) return std::nullopt;
  if (first->type != "Reshape" && first->type != "Flatten" && first->type != "Squeeze" && first->type != "Unsqueeze")
    return std::nullopt;
  const Tensor* target = g.constant(n.inputs[1]);
  const Shape *before = shape_of(g, first->inputs[0]), *between = shape_of(g, n.inputs[0]);
  if (!target || !before || !between) return std::nullopt;
  for (size_t i = 0; i < target->count(); ++i) {  // a 0 must mean the same extent before and after
    if (target->data<int64_t>()[i] != 0) continue;
    if (i >= before->rank() || i >= between->rank() || (*before)[i] != (*between)[i]) return std::nullopt;
  }
  Patch p(g);
  const std::vector<ValueId> inputs{first->inputs[0], n.inputs[1]};
  p.replace(n.outputs[0], p.add({.type = "Reshape", .inputs = inputs, .attributes = n.attributes}));
  p.covers({first->id, n.id});
  return p;
}

constexpr Rule kReshapeChainRules[] = {
    {.name = "reshape_chain",
     .root = "Reshape",
     .match = match_reshape_chain,
     .stages = {RuleStage::cleanup, RuleStage::sink_transposes},
     .after = {"constant_reshape", "unfold_linear"}},
};

}  // namespace

extern const Rules rules_reshape_chain;
constinit const Rules rules_reshape_chain{kReshapeChainRules};

}  // namespace retort
