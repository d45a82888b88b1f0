// Tests that constant filters of codes become floats where a convolution is not computed on codes.
#include "passes/passes_testing.h"

namespace retort {
namespace {

ValueId filters(TestGraph& t, ValueId codes) {
  const ValueId zero = t.g.add_constant("zero", Tensor::of<int8_t>({}, {3}));
  return t.add("DequantizeLinear", {codes, t.scalar(0.5f), zero});
}
ValueId constant_codes(TestGraph& t) { return t.g.add_constant("w", Tensor::of<int8_t>({2, 1, 2}, {1, -2, 3, 127})); }

void a_transposed_convolution(TestGraph& t) {
  const ValueId x = t.input("x", {1, 2, 5});
  t.output(t.add("ConvTranspose", {x, filters(t, constant_codes(t))}), "y");
}
const RuleExample example_of_a_transposed_convolution("dequantized_filters_transposed",
                                                      {"dequantized_transposed_filters"}, a_transposed_convolution,
                                                      R"(graph(x: float32[1,2,5]) {
  y: float32[1,1,6] = ConvTranspose(x, filters#1)
  return y
}
)");

void a_convolution(TestGraph& t) {
  const ValueId x = t.input("x", {1, 1, 5});
  t.output(t.add("Conv", {x, filters(t, constant_codes(t))}), "y");
}
const RuleExample example_of_a_convolution("dequantized_filters", {"dequantized_filters"}, a_convolution,
                                           R"(graph(x: float32[1,1,5]) {
  y: float32[1,2,4] = Conv(x, filters#1)
  return y
}
)");

TEST(DequantizedFilters, ThoseOfARunStay) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 2, 5}), w = t.input("w", {2, 1, 2}, DType::i8);
  t.output(t.add("ConvTranspose", {x, filters(t, w)}), "y");
  expect_no_rewrite(t, {"dequantized_transposed_filters"});
}

}  // namespace
}  // namespace retort
