// Tests that scales and bias go into a product of codes.
#include "passes/passes_testing.h"

namespace retort {
namespace {

/// Dynamic quantisation of x, a product with constant codes, and its real numbers.
ValueId dynamic_product(TestGraph& t, const std::vector<float>& scales) {
  const std::vector<ValueId> q =
      t.add_multi({.type = "DynamicQuantizeLinear", .inputs = {t.input("x", {2, 3})}, .outputs = 3});
  Tensor codes(DType::i8, {3, 4});
  for (size_t i = 0; i < codes.count(); ++i) codes.mutable_data<int8_t>()[i] = int8_t(int(i * 37 % 255) - 127);
  const ValueId w = t.g.add_constant("w", std::move(codes));
  const ValueId sums = t.add("MatMulInteger", {q[0], w, q[2]});
  const ValueId numbers = t.add("Cast", {sums}, {{"to", int64_t(DType::f32)}});
  const Shape shape = scales.size() == 1 ? Shape{} : Shape{int64_t(scales.size())};
  return t.add("Mul", {numbers, t.add("Mul", {q[1], t.floats(shape, scales)})});
}

void scales_and_bias(TestGraph& t) { t.output(t.add("Add", {t.weight("b", {4}), dynamic_product(t, {0.5f})}), "y"); }
const RuleExample example_of_scales_and_bias("integer_product_scales_and_bias",
                                             {"integer_product_scales", "integer_product_bias"}, scales_and_bias,
                                             R"(graph(x: float32[2,3]) {
  DynamicQuantizeLinear#1: uint8[2,3], DynamicQuantizeLinear#2: float32[], DynamicQuantizeLinear#3: uint8[] = DynamicQuantizeLinear(x)
  y: float32[2,4] = retort.MatMulIntegerToFloat(DynamicQuantizeLinear#1, w, DynamicQuantizeLinear#2, w#1, DynamicQuantizeLinear#3, _, b)
  return y
}
)");

void scales_of_columns(TestGraph& t) { t.output(dynamic_product(t, {0.5f, 1, 2, 3}), "y"); }
const RuleExample example_of_scales_of_columns("integer_product_scales_of_columns", {"integer_product_scales"},
                                               scales_of_columns, R"(graph(x: float32[2,3]) {
  DynamicQuantizeLinear#1: uint8[2,3], DynamicQuantizeLinear#2: float32[], DynamicQuantizeLinear#3: uint8[] = DynamicQuantizeLinear(x)
  y: float32[2,4] = retort.MatMulIntegerToFloat(DynamicQuantizeLinear#1, w, DynamicQuantizeLinear#2, w#1, DynamicQuantizeLinear#3, _)
  return y
}
)");

void an_addend_of_each_row_stays_outside(TestGraph& t) {
  t.output(t.add("Add", {dynamic_product(t, {0.5f}), t.weight("b", {2, 1})}), "y");
}
const RuleExample example_of_an_addend_of_each_row_stays_outside("integer_product_an_addend_of_each_row_stays_outside",
                                                                 {"integer_product_scales"},
                                                                 an_addend_of_each_row_stays_outside,
                                                                 R"(graph(x: float32[2,3]) {
  DynamicQuantizeLinear#1: uint8[2,3], DynamicQuantizeLinear#2: float32[], DynamicQuantizeLinear#3: uint8[] = DynamicQuantizeLinear(x)
  MatMulIntegerToFloat#1: float32[2,4] = retort.MatMulIntegerToFloat(DynamicQuantizeLinear#1, w, DynamicQuantizeLinear#2, w#1, DynamicQuantizeLinear#3, _)
  y: float32[2,4] = Add(MatMulIntegerToFloat#1, b)
  return y
}
)");

}  // namespace
}  // namespace retort
