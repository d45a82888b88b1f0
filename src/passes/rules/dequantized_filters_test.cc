// Tests that constant filters of codes become floats where a convolution is not computed on codes.
#include <algorithm>
#include <cstring>

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

void products_of_16_bits(TestGraph& t) {
  const ValueId w = t.g.add_constant("w", Tensor::of<int16_t>({2, 3}, {1, -32768, 3, 32767, 0, -7}));
  const ValueId real = t.add("DequantizeLinear", {w, t.floats({3}, {1, 0.5f, 2})});
  t.output(t.add("MatMul", {t.input("x", {4, 2}), real}), "y");
  t.output(t.add("Gemm", {t.input("z", {4, 3}), real}, {{"transB", int64_t(1)}}), "u");
}
const RuleExample example_of_products_of_16_bits("dequantized_products", {"dequantized_matmul", "dequantized_gemm"},
                                                 products_of_16_bits, R"(graph(x: float32[4,2], z: float32[4,3]) {
  y: float32[4,3] = MatMul(x, filters#1)
  u: float32[4,2] = Gemm(z, filters#2) {transB=1}
  return y, u
}
)");

TEST(DequantizedFilters, MatricesOfSmallFloatsAreComputedOnce) {
  TestGraph t;
  Tensor codes(DType::f8e5m2, {2, 1});
  std::memcpy(codes.mutable_data(), "\x3c\xc0", 2);  // 1, -2
  const ValueId w = t.add("DequantizeLinear", {t.g.add_constant("w", std::move(codes)), t.scalar(0.5f)});
  t.output(t.add("MatMul", {t.input("x", {4, 2}), w}), "y");
  const std::string_view name = "dequantized_matmul";
  PassOptions options;
  PassContext context(options);
  rewrite(t.g, rules_named({&name, 1}), context);
  const Tensor* numbers = t.g.constant(t.g.producer(t.g.outputs[0])->inputs[1]);
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->at<float>(0), 0.5f);
  EXPECT_EQ(numbers->at<float>(1), -1.0f);
}

TEST(DequantizedFilters, MatricesOf8BitsStay) {
  TestGraph t;
  t.output(
      t.add("MatMul", {t.input("x", {4, 2}), filters(t, t.g.add_constant("w", Tensor::of<int8_t>({2, 1}, {1, -2})))}),
      "y");
  expect_no_rewrite(t, {"dequantized_matmul"});
}

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
