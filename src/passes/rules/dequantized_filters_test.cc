// Tests that constant filters of codes become floats where a convolution is not computed on codes.
#include <algorithm>

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

void a_convolution_with_a_bias(TestGraph& t) {
  const ValueId x = t.input("x", {1, 1, 5});
  const ValueId bias = t.g.add_constant("b", Tensor::of<int32_t>({2}, {-7, 9}));
  t.output(t.add("Conv", {x, filters(t, constant_codes(t)), t.add("DequantizeLinear", {bias, t.scalar(0.25f)})}), "y");
}
const RuleExample example_of_a_convolution_with_a_bias("dequantized_filters_and_bias", {"dequantized_filters"},
                                                       a_convolution_with_a_bias, R"(graph(x: float32[1,1,5]) {
  y: float32[1,2,4] = Conv(x, filters#1, bias#1)
  return y
}
)");

TEST(DequantizedFilters, WhatCannotBeComputedStays) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 1, 5});
  const auto small_floats = [](Shape shape, uint8_t code) {
    Tensor tensor(DType::f8e4m3fn, std::move(shape));
    std::fill_n(static_cast<uint8_t*>(tensor.mutable_data()), tensor.count(), code);
    return tensor;
  };
  const ValueId codes = t.g.add_constant("w", small_floats({2, 1, 2}, 1));
  const ValueId zero = t.g.add_constant("z", small_floats({}, 1));  // must be 0, which only a run finds out
  const ValueId real = t.add("DequantizeLinear", {codes, t.scalar(1), zero});
  t.output(t.add("Conv", {x, real}), "y");
  const std::string before = print(t.g);
  const std::string_view name = "dequantized_filters";
  PassOptions options;
  PassContext context(options);
  rewrite(t.g, rules_named({&name, 1}), context);
  EXPECT_EQ(print(t.g), before);
}

TEST(DequantizedFilters, ThoseOfARunStay) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 2, 5}), w = t.input("w", {2, 1, 2}, DType::i8);
  t.output(t.add("ConvTranspose", {x, filters(t, w)}), "y");
  expect_no_rewrite(t, {"dequantized_transposed_filters"});
}

}  // namespace
}  // namespace retort
