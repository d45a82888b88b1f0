// Removes nodes that return their input: Identity, a Transpose that changes nothing, a Reshape or Expand to the same
// shape, a Cast to the same type, a Concat of one input, a Slice of everything. Exporters and other rules leave such
// nodes in all models.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// Replaces the node's output by its input 0. A graph output that is an input, a constant or another output needs an
// Identity, so the rule would apply forever.
std::optional<Patch> forward(const Graph& g, const Node& n) {
  const ValueId in = n.inputs[0], out = n.outputs[0];
  if (g.is_output(out)) {
    const bool own_name = g.value(in).producer != NodeId::none && !g.is_output(in);
    if (!own_name) return std::nullopt;
  }
  if (g.value(in).type.is_tensor() && g.value(out).type.is_tensor() &&
      g.value(in).type.dtype != g.value(out).type.dtype)
    return std::nullopt;
  Patch p(g);
  p.replace(out, in);
  return p;
}

std::optional<Patch> match_identity(const Graph& g, const Node& n) { return forward(g, n); }

std::optional<Patch> match_transpose(const Graph& g, const Node& n) {
  const auto perm = ints_attribute(n, "perm");
  if (perm.empty()) return std::nullopt;                       // without perm, axes are reversed
  if (!g.value(n.inputs[0]).type.ranked) return std::nullopt;  // another number of axes is an error of the run
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != int64_t(i)) return std::nullopt;
  }
  return forward(g, n);
}

// The inputs after the first determine the shape. If their content is not known, only a declaration says that the shape
// stays the same, and a run may say otherwise.
std::optional<Patch> match_same_shape(const Graph& g, const Node& n) {
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    if (n.inputs[i] != ValueId::none && !has_content(g, n.inputs[i])) return std::nullopt;
  }
  return same_shape(g, n.inputs[0], n.outputs[0]) ? forward(g, n) : std::nullopt;
}

std::optional<Patch> match_cast(const Graph& g, const Node& n) {
  const DType in = g.value(n.inputs[0]).type.dtype;
  return in != DType::undefined && in == g.value(n.outputs[0]).type.dtype ? forward(g, n) : std::nullopt;
}

std::optional<Patch> match_concat(const Graph& g, const Node& n) {
  return n.inputs.size() == 1 ? forward(g, n) : std::nullopt;
}

// Equal extents do not make a Slice a no-op: a negative step reverses the elements.
std::optional<Patch> match_slice(const Graph& g, const Node& n) {
  if (n.input(4) != ValueId::none) {
    const auto steps = known_integers(g, n.input(4));
    if (!steps || !std::all_of(steps->begin(), steps->end(), [](int64_t s) { return s == 1; })) return std::nullopt;
  }
  return match_same_shape(g, n);
}

constexpr Rule kNoopRules[] = {
    {"identity", "Identity", match_identity, {RuleStage::cleanup}},
    {.name = "noop_transpose",
     .root = "Transpose",
     .match = match_transpose,
     .stages = {RuleStage::cleanup, RuleStage::sink_transposes},
     .after = {"transpose_chain"}},
    {.name = "noop_reshape",
     .root = "Reshape",
     .match = match_same_shape,
     .stages = {RuleStage::cleanup, RuleStage::sink_transposes},
     .after = {"reshape_chain"}},
    {"noop_cast", "Cast", match_cast, {RuleStage::cleanup}},
    {"noop_expand", "Expand", match_same_shape, {RuleStage::cleanup}},
    {"noop_concat", "Concat", match_concat, {RuleStage::cleanup}},
    {"noop_slice", "Slice", match_slice, {RuleStage::cleanup}},
};

}  // namespace

extern const Rules rules_noop;
constinit const Rules rules_noop{kNoopRules};

}  // namespace retort
