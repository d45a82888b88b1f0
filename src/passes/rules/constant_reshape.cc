// Replaces the target of a Reshape that is computed from symbolic extents by a constant: 0 for an extent that is kept
// and -1 for one that follows from the others. The Shape, Gather and Concat nodes that computed the target become dead.
// Speeds up every transformer exported from torch with dynamic axes (BERT, MiniLM, GPT-2, ViT, Llama, Whisper).
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// Returns target extents in the notation of Reshape; nullopt if that would need more than one -1.
std::optional<std::vector<int64_t>> target(const Shape& in, const Shape& out) {
  std::vector<int64_t> t(out.begin(), out.end());
  size_t open = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    if (is_known(t[i])) {
      if (t[i] == 0) return std::nullopt;
      continue;
    }
    if (i < in.rank() && in[i] == t[i]) {
      t[i] = 0;
    } else {
      t[i] = -1;
      ++open;
    }
  }
  if (open > 1) return std::nullopt;
  return t;
}

std::optional<Patch> match_constant_reshape(const Graph& g, const Node& n) {
  if (g.constant(n.inputs[1]) || !has_content(g, n.inputs[1])) return std::nullopt;  // a declaration may be wrong
  const Shape *in = shape_of(g, n.inputs[0]), *out = shape_of(g, n.outputs[0]);
  if (!in || !out) return std::nullopt;
  const auto t = target(*in, *out);
  if (!t) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = "Reshape", .inputs = {n.inputs[0], p.constant(int64_tensor(*t), "shape")}}));
  p.covers(n.id);
  return p;
}

constexpr Rule kConstantReshapeRules[] = {
    {"constant_reshape", "Reshape", match_constant_reshape, {RuleStage::cleanup}},
};

}  // namespace

extern const Rules rules_constant_reshape;
constinit const Rules rules_constant_reshape{kConstantReshapeRules};

}  // namespace retort
