// Makes one operator of x · s + b, where s and b are constant vectors along the last axis, or along the channels of
// [N, C, ...]: BatchNormalization that was not merged into a convolution. The activation that follows becomes its
// epilogue. Speeds up pre-activation networks (DenseNet).
#include "passes/batch_norm.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

/// A constant along the last axis of `x`, as a vector; shorter ones do not fill the registers.
std::optional<Tensor> along_rows(const Graph& g, ValueId c, ValueId x) {
  constexpr int64_t kShortest = 16;
  const Tensor* t = g.constant(c);
  const Shape* s = shape_of(g, x);
  if (!t || !s || s->rank() < 2 || s->back() < kShortest || t->shape().empty() || t->shape().back() != s->back() ||
      int64_t(t->count()) != s->back() || t->shape().rank() > s->rank())
    return std::nullopt;
  return t->reshaped({s->back()});
}

/// A constant along the channels of `x` [N, C, ...], as a vector; none if it is no such constant.
std::optional<Tensor> along_channels(const Graph& g, ValueId c, ValueId x) {
  const Tensor* t = g.constant(c);
  const Shape* s = shape_of(g, x);
  if (!t || t->dtype() != DType::f32 || t->count() < 2 || !s || s->rank() < 3 || !is_known((*s)[1]))
    return std::nullopt;
  const std::vector<float> numbers = per_channel(g, c, size_t((*s)[1]), s->rank());
  if (numbers.empty()) return std::nullopt;
  return Tensor::of<float>({(*s)[1]}, numbers);
}

std::optional<Patch> match_row_affine(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* mul = sole_producer_of(g, n.inputs[side], "Mul");
    for (size_t of_mul = 0; mul && of_mul < 2; ++of_mul) {
      const ValueId x = mul->inputs[of_mul];
      if (g.constant(x) || !is_float32(g, x)) continue;
      auto scale = along_rows(g, mul->inputs[1 - of_mul], x), shift = along_rows(g, n.inputs[1 - side], x);
      const bool planes = !scale || !shift;
      if (planes) {
        scale = along_channels(g, mul->inputs[1 - of_mul], x);
        shift = along_channels(g, n.inputs[1 - side], x);
      }
      if (!scale || !shift) continue;
      Attributes attributes;
      if (planes) attributes.set("planes", int64_t(1));
      Patch p(g);
      const ValueId scales = p.constant(std::move(*scale), "scale"), shifts = p.constant(std::move(*shift), "shift");
      p.replace(n.outputs[0], p.add({.type = "RowAffine",
                                     .inputs = {x, scales, shifts},
                                     .attributes = std::move(attributes),
                                     .domain = "retort"}));
      p.covers({mul->id, n.id});
      return p;
    }
  }
  return std::nullopt;
}

constexpr Rule kRowAffineRules[] = {
    {.name = "row_affine",
     .root = "Add",
     .match = match_row_affine,
     .stages = {RuleStage::epilogues},
     .after = {"epilogue_residual"}},
};

}  // namespace

extern const Rules rules_row_affine;
constinit const Rules rules_row_affine{kRowAffineRules};

}  // namespace retort
