// Moves a Transpose past nodes for which the order of rows does not matter: a Linear (if the last axis stays last),
// and a Reshape that only splits or merges trailing axes that the Transpose does not move. There it meets its inverse
// or the views of attention. Speeds up ViT and other models with torch's sequence-first attention.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// The number of trailing axes that the permutation does not move.
size_t fixed_tail(const std::vector<int64_t>& perm) {
  size_t fixed = 0;
  while (fixed < perm.size() && perm[perm.size() - 1 - fixed] == int64_t(perm.size() - 1 - fixed)) ++fixed;
  return fixed;
}

std::optional<Patch> match_linear(const Graph& g, const Node& n) {
  const Node* turn = producer_of(g, n.inputs[0], "Transpose");
  if (!turn || n.input(3) != ValueId::none || fixed_tail(ints_attribute(*turn, "perm")) < 1) return std::nullopt;
  Patch p(g);
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = turn->inputs[0];
  const ValueId y =
      p.add({.type = "Linear", .inputs = std::move(inputs), .attributes = n.attributes, .domain = "retort"});
  p.replace(n.outputs[0], p.add({.type = "Transpose", .inputs = {y}, .attributes = turn->attributes}));
  p.covers({n.id, turn->id});
  return p;
}

std::optional<Patch> match_reshape(const Graph& g, const Node& n) {
  const Node* turn = sole_producer_of(g, n.inputs[0], "Transpose");
  const Shape *in = shape_of(g, n.inputs[0]), *out = shape_of(g, n.outputs[0]);
  if (!turn || !in || !out || !g.constant(n.inputs[1])) return std::nullopt;
  const auto perm = ints_attribute(*turn, "perm");
  const size_t moved = perm.size() - fixed_tail(perm);
  if (moved == 0 || out->rank() <= moved) return std::nullopt;
  std::vector<int64_t> target;
  for (size_t i = 0; i < out->rank(); ++i) {
    if (i < moved && (*in)[i] != (*out)[i]) return std::nullopt;
    if (i >= moved && (!is_known((*out)[i]) || (*out)[i] == 0)) return std::nullopt;
    target.push_back(i < moved ? 0 : (*out)[i]);
  }
  std::vector<int64_t> order(perm.begin(), perm.begin() + ptrdiff_t(moved));
  for (size_t i = moved; i < out->rank(); ++i) order.push_back(int64_t(i));
  Patch p(g);
  const ValueId y = p.add({.type = "Reshape", .inputs = {turn->inputs[0], p.constant(int64_tensor(target), "shape")}});
  p.replace(n.outputs[0], p.add({.type = "Transpose", .inputs = {y}, .attributes = {{"perm", order}}}));
  p.covers({n.id, turn->id});
  return p;
}

// Matches Reshape(Linear(Reshape(x))) that merges leading axes and splits them again, which the product does not need.
std::optional<Patch> match_unfold(const Graph& g, const Node& n) {
  const Node* linear = sole_producer_of(g, n.inputs[0], "Linear", "retort");
  if (!linear || linear->input(3) != ValueId::none) return std::nullopt;
  const Node* fold = producer_of(g, linear->inputs[0], "Reshape");
  const Shape *x = fold ? shape_of(g, fold->inputs[0]) : nullptr, *folded = shape_of(g, linear->inputs[0]),
              *y = shape_of(g, n.inputs[0]), *out = shape_of(g, n.outputs[0]);
  if (!x || !folded || !y || !out || out->rank() < 2 || y->back() != out->back() || !is_known(folded->back()))
    return std::nullopt;
  if (x->rank() < out->rank()) return std::nullopt;
  std::vector<int64_t> target;
  for (size_t i = 0; i + 1 < out->rank(); ++i) {
    if ((*x)[i] != (*out)[i]) return std::nullopt;
    target.push_back(0);
  }
  target.push_back(folded->back());
  Patch p(g);
  std::vector<ValueId> inputs = linear->inputs;
  inputs[0] = p.add({.type = "Reshape", .inputs = {fold->inputs[0], p.constant(int64_tensor(target), "shape")}});
  p.replace(
      n.outputs[0],
      p.add({.type = "Linear", .inputs = std::move(inputs), .attributes = linear->attributes, .domain = "retort"}));
  p.covers({linear->id, n.id});
  return p;
}

constexpr Rule kSinkTransposeRules[] = {
    {.name = "sink_transpose_linear",
     .root = "Linear",
     .match = match_linear,
     .stages = {RuleStage::sink_transposes},
     .domain = "retort"},
    {"sink_transpose_reshape", "Reshape", match_reshape, {RuleStage::sink_transposes}},
    {.name = "unfold_linear",
     .root = "Reshape",
     .match = match_unfold,
     .stages = {RuleStage::sink_transposes},
     .after = {"sink_transpose_reshape"}},
};

}  // namespace

extern const Rules rules_sink_transpose;
constinit const Rules rules_sink_transpose{kSinkTransposeRules};

}  // namespace retort
