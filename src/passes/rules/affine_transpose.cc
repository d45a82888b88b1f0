// Moves an Add, Sub, Mul or Div with a constant vector in front of the Transpose of a convolution's result, where it can
// become a part of the convolution. Speeds up models whose images are channels-last, with a convolution between two
// Transposes and a bias behind them, as converters from TensorFlow write them.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// The shape that the constant has before the permutation, with leading axes; nullopt unless at most one of its axes has
// several elements, since its elements would have to be reordered.
std::optional<Shape> shape_before(const Shape& constant, const std::vector<int64_t>& perm) {
  if (constant.rank() > perm.size()) return std::nullopt;
  Shape before;
  for (size_t i = 0; i < perm.size(); ++i) before.push_back(1);
  size_t wide = 0;
  for (size_t i = 0; i < constant.rank(); ++i) {
    before[size_t(perm[perm.size() - constant.rank() + i])] = constant[i];
    wide += constant[i] != 1;
  }
  return wide <= 1 ? std::optional(before) : std::nullopt;
}

std::optional<Patch> match_affine_transpose(const Graph& g, const Node& n) {
  const bool commutes = n.is("Add") || n.is("Mul");
  for (size_t i = 0; i < 2; ++i) {
    const Tensor* c = g.constant(n.inputs[1 - i]);
    const Node* turn = sole_producer_of(g, n.inputs[i], "Transpose");
    if (!c || c->dtype() != DType::f32 || !turn || (i == 1 && !commutes)) continue;
    const bool convolves =
        sole_producer_of(g, turn->inputs[0], "Conv") || sole_producer_of(g, turn->inputs[0], "ConvTranspose");
    const auto shape = shape_before(c->shape(), ints_attribute(*turn, "perm"));
    if (!convolves || !shape) continue;
    Patch p(g);
    const ValueId y = p.add(
        {.type = n.type, .inputs = {turn->inputs[0], p.constant(c->reshaped(*shape), g.value(n.inputs[1 - i]).name)}});
    p.replace(n.outputs[0], p.add({.type = "Transpose", .inputs = {y}, .attributes = turn->attributes}));
    p.covers({n.id, turn->id});
    return p;
  }
  return std::nullopt;
}

constexpr Rule kAffineTransposeRules[] = {
    {"add_transpose", "Add", match_affine_transpose, {RuleStage::conv_affine}},
    {"sub_transpose", "Sub", match_affine_transpose, {RuleStage::conv_affine}},
    {"mul_transpose", "Mul", match_affine_transpose, {RuleStage::conv_affine}},
    {"div_transpose", "Div", match_affine_transpose, {RuleStage::conv_affine}},
};

}  // namespace

extern const Rules rules_affine_transpose;
constinit const Rules rules_affine_transpose{kAffineTransposeRules};

}  // namespace retort
