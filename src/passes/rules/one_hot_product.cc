// Replaces the product of one-hot rows and constant weights by the rows of the weights that they choose (embeddings of
// JAX and TensorFlow: Cast(Equal(indices, 0, 1, 2, …)) times weights). Indices outside of the weights choose a row of
// zeros. Speeds up Magika.
#include <cmath>
#include <cstring>

#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// Whether all elements are finite: infinity times the zeros of a row would be NaN.
bool is_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

// Whether a constant has the numbers 0, 1, 2, … along its last axis, and no other axis.
bool counts_up(const Graph& g, ValueId v, size_t most_rank) {
  const Tensor* t = g.constant(v);
  const auto numbers = t ? known_integers(g, v) : std::nullopt;
  if (!numbers || t->shape().rank() == 0 || t->shape().rank() > most_rank) return false;
  if (t->shape().back() != int64_t(numbers->size())) return false;
  for (size_t i = 0; i < numbers->size(); ++i) {
    if ((*numbers)[i] != int64_t(i)) return false;
  }
  return true;
}

// The indices of Cast(Equal(indices, 0, 1, 2, …)), whose last axis has one element.
ValueId one_hot_indices(const Graph& g, ValueId rows) {
  const Node* cast = sole_producer_of(g, rows, "Cast");
  const Node* equal = cast ? sole_producer_of(g, cast->inputs[0], "Equal") : nullptr;
  if (!equal) return ValueId::none;
  return other_input(*equal, [&](ValueId numbers) {
    const ValueId indices = equal->inputs[0] == numbers ? equal->inputs[1] : equal->inputs[0];
    const Shape* s = shape_of(g, indices);
    const DType type = g.value(indices).type.dtype;
    return s && s->rank() > 0 && s->back() == 1 && (type == DType::i32 || type == DType::i64) &&
           counts_up(g, numbers, s->rank());
  });
}

Tensor integer(DType type, int64_t value) {
  return type == DType::i32 ? Tensor::of<int32_t>({}, {int32_t(value)}) : Tensor::of<int64_t>({}, {value});
}

std::optional<Patch> match_one_hot_product(const Graph& g, const Node& n) {
  const Tensor* w = g.constant(n.inputs[1]);
  if (!w || w->dtype() != DType::f32 || w->shape().rank() != 2 || !is_float32(g, n.inputs[0])) return std::nullopt;
  const ValueId indices = one_hot_indices(g, n.inputs[0]);
  const Shape* rows = shape_of(g, n.inputs[0]);
  if (indices == ValueId::none || !rows || rows->back() != w->shape()[0]) return std::nullopt;
  if (g.use_count(n.inputs[1]) > 1) return std::nullopt;  // the weights would be in memory twice
  std::vector<float> table = float_content(g, n.inputs[1]);
  if (!is_finite(table)) return std::nullopt;
  const int64_t count = w->shape()[0], width = w->shape()[1];
  table.resize(table.size() + size_t(width), 0.0f);
  const DType type = g.value(indices).type.dtype;
  Patch p(g);
  const ValueId last = p.constant(int64_tensor(std::vector<int64_t>{-1}), "axes");
  const ValueId row = p.add({.type = "Squeeze", .inputs = {indices, last}});
  const ValueId low = p.constant(integer(type, -1)), high = p.constant(integer(type, count));
  const ValueId inside = p.add({.type = "Clip", .inputs = {row, low, high}});  // -1 is the last row, too
  const ValueId weights = p.constant(float_tensor({count + 1, width}, table), "rows");
  p.replace(n.outputs[0], p.add({.type = "Gather", .inputs = {weights, inside}, .attributes = {{"axis", int64_t(0)}}}));
  p.covers(n.id);
  return p;
}

constexpr Rule kOneHotProductRules[] = {
    {"one_hot_product", "MatMul", match_one_hot_product, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_one_hot_product;
constinit const Rules rules_one_hot_product{kOneHotProductRules};

}  // namespace retort
