// Takes what follows a product of codes into it: the conversion to float, the scales and the bias. Speeds up models with
// dynamic quantisation (BERT).
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// The scale of A, one number, and that of B, a constant: one number, or one of each column.
struct ProductScales {
  ValueId of_a = ValueId::none, of_b = ValueId::none;
};

bool has_one_element(const Graph& g, ValueId v) {
  const Shape* s = shape_of(g, v);
  return s && std::all_of(s->begin(), s->end(), [](Dim d) { return d == 1; });
}
bool fits_columns(const Graph& g, ValueId v, Dim columns) {
  const Tensor* t = g.constant(v);
  return t && t->dtype() == DType::f32 &&
         (t->count() == 1 || (t->shape().rank() == 1 && is_known(columns) && t->shape()[0] == columns));
}

std::optional<ProductScales> product_scales_of(const Graph& g, ValueId v, Dim columns) {
  const Node* n = producer_of(g, v, "Mul");
  for (size_t side = 0; n && side < 2; ++side) {
    if (has_one_element(g, n->inputs[side]) && is_float32(g, n->inputs[side]) &&
        fits_columns(g, n->inputs[1 - side], columns))
      return ProductScales{n->inputs[side], n->inputs[1 - side]};
  }
  if (fits_columns(g, v, columns)) return ProductScales{ValueId::none, v};
  return std::nullopt;
}

std::optional<Patch> match_product_scales(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* cast = sole_producer_of(g, n.inputs[side], "Cast");
    const Node* product =
        cast && is_float32(g, n.inputs[side]) ? sole_producer_of(g, cast->inputs[0], "MatMulInteger") : nullptr;
    const Shape* b = product ? shape_of(g, product->inputs[1]) : nullptr;
    if (!b || b->rank() < 2 || !same_shape(g, n.inputs[side], n.outputs[0])) continue;
    const auto factors = product_scales_of(g, n.inputs[1 - side], b->back());
    if (!factors) continue;
    Patch p(g);
    const ValueId of_a = factors->of_a != ValueId::none ? factors->of_a : p.constant(Tensor::of<float>({}, {1}));
    p.replace(n.outputs[0], p.add({.type = "MatMulIntegerToFloat",
                                   .inputs = {product->inputs[0], product->inputs[1], of_a, factors->of_b,
                                              product->input(2), product->input(3)},
                                   .domain = "retort"}));
    p.covers({product->id, cast->id, n.id});
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> match_product_bias(const Graph& g, const Node& n) {
  constexpr size_t kBias = 6;
  for (size_t side = 0; side < 2; ++side) {
    const Node* product = sole_producer_of(g, n.inputs[side], "MatMulIntegerToFloat", "retort");
    const Shape* y = shape_of(g, n.inputs[side]);
    const Tensor* c = g.constant(n.inputs[1 - side]);
    if (!product || product->input(kBias) != ValueId::none || !y || !c || c->dtype() != DType::f32 ||
        c->shape().rank() != 1 || c->shape()[0] != y->back())
      continue;
    std::vector<ValueId> inputs = product->inputs;
    inputs.resize(kBias + 1, ValueId::none);
    inputs[kBias] = n.inputs[1 - side];
    Patch p(g);
    p.replace(n.outputs[0], p.add({.type = "MatMulIntegerToFloat", .inputs = std::move(inputs), .domain = "retort"}));
    p.covers({product->id, n.id});
    return p;
  }
  return std::nullopt;
}

constexpr Rule kIntegerProductRules[] = {
    {"integer_product_bias", "Add", match_product_bias, {RuleStage::linear, RuleStage::epilogues}},
    {"integer_product_scales", "Mul", match_product_scales, {RuleStage::linear}},
};

}  // namespace

extern const Rules rules_integer_product;
constinit const Rules rules_integer_product{kIntegerProductRules};

}  // namespace retort
