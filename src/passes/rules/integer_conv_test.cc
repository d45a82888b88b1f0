// Tests that scales, bias, addend and activation go into a channels-last convolution of integers.
#include "passes/passes_testing.h"

namespace retort {
namespace {

/// Dynamic quantisation of x, a channels-last convolution with constant codes, and its numbers.
ValueId dynamic_convolution(TestGraph& t, ValueId x, ValueId scale_of_w) {
  const std::vector<ValueId> q = t.add_multi({.type = "DynamicQuantizeLinear", .inputs = {x}, .outputs = 3});
  Tensor codes(DType::i8, {4, 3, 1, 1});
  for (size_t i = 0; i < codes.count(); ++i) codes.mutable_data<int8_t>()[i] = int8_t(int(i * 37 % 255) - 127);
  const ValueId sums = t.add("NhwcConvInteger", {q[0], t.g.add_constant("w", std::move(codes)), q[2]}, {}, "retort");
  const ValueId numbers = t.add("Cast", {sums}, {{"to", int64_t(DType::f32)}});
  return t.add("Mul", {numbers, scale_of_w == ValueId::none ? q[1] : t.add("Mul", {q[1], scale_of_w})});
}

TEST(IntegerConv, ScalesBiasAddendAndActivation) {
  TestGraph t;
  const ValueId y = dynamic_convolution(t, t.input("x", {1, 2, 5, 3}), t.floats({1, 1, 1, 4}, {0.5f, 1, 2, 3}));
  const ValueId sum = t.add("Add", {t.input("r", {1, 2, 5, 4}), t.add("Add", {t.weight("b", {1, 1, 1, 4}), y})});
  t.output(t.add("Relu", {sum}), "y");
  expect_rewrite(t, {"integer_conv_scales", "integer_conv_bias", "epilogue_residual", "epilogue_relu"},
                 R"(graph(x: float32[1,2,5,3], r: float32[1,2,5,4]) {
  DynamicQuantizeLinear#1: uint8[1,2,5,3], DynamicQuantizeLinear#2: float32[], DynamicQuantizeLinear#3: uint8[] = DynamicQuantizeLinear(x)
  y: float32[1,2,5,4] = retort.NhwcConvInteger(DynamicQuantizeLinear#1, w, DynamicQuantizeLinear#3, _, DynamicQuantizeLinear#2, const#1, const#2, r) {activation="relu", activation_a=0, activation_b=0}
  return y
}
)");
}

TEST(IntegerConv, ScaleOfTheImageAlone) {
  TestGraph t;
  t.output(dynamic_convolution(t, t.input("x", {1, 2, 5, 3}), ValueId::none), "y");
  expect_rewrite(t, {"integer_conv_scales"}, R"(graph(x: float32[1,2,5,3]) {
  DynamicQuantizeLinear#1: uint8[1,2,5,3], DynamicQuantizeLinear#2: float32[], DynamicQuantizeLinear#3: uint8[] = DynamicQuantizeLinear(x)
  y: float32[1,2,5,4] = retort.NhwcConvInteger(DynamicQuantizeLinear#1, w, DynamicQuantizeLinear#3, _, DynamicQuantizeLinear#2, const#1)
  return y
}
)");
}

TEST(IntegerConv, AnAddendOfEachColumnStays) {
  TestGraph t;
  const ValueId y = dynamic_convolution(t, t.input("x", {1, 2, 4, 3}), t.scalar(0.5f));
  t.output(t.add("Add", {y, t.weight("b", {1, 1, 4, 1})}), "y");
  expect_rewrite(t, {"integer_conv_scales", "integer_conv_bias", "epilogue_residual"}, R"(graph(x: float32[1,2,4,3]) {
  DynamicQuantizeLinear#1: uint8[1,2,4,3], DynamicQuantizeLinear#2: float32[], DynamicQuantizeLinear#3: uint8[] = DynamicQuantizeLinear(x)
  NhwcConvInteger#1: float32[1,2,4,4] = retort.NhwcConvInteger(DynamicQuantizeLinear#1, w, DynamicQuantizeLinear#3, _, DynamicQuantizeLinear#2, c#1)
  y: float32[1,2,4,4] = Add(NhwcConvInteger#1, b)
  return y
}
)");
}

TEST(IntegerConv, SumsThatAreNotConvertedHaveNoActivation) {
  TestGraph t;
  Tensor codes(DType::i8, {4, 3, 1, 1});
  const ValueId sums =
      t.add("NhwcConvInteger", {t.input("x", {1, 2, 5, 3}, DType::u8), t.g.add_constant("w", std::move(codes))}, {},
            "retort");
  t.output(t.add("Relu", {sums}), "y");
  expect_no_rewrite(t, {"epilogue_relu", "integer_conv_scales"});
}

/// A convolution of integers with results in floats, and perhaps more inputs.
ValueId converted_convolution(TestGraph& t, std::vector<ValueId> more = {}, Attributes attributes = {}) {
  std::vector<ValueId> inputs = {t.input("x", {1, 2, 4, 3}, DType::u8),
                                 t.g.add_constant("w", Tensor(DType::i8, {4, 3, 1, 1})),
                                 ValueId::none,
                                 ValueId::none,
                                 t.scalar(0.5f),
                                 t.scalar(0.25f)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return t.add("NhwcConvInteger", std::move(inputs), std::move(attributes), "retort");
}
TEST(IntegerConv, OtherScalesStay) {
  for (const Shape& shape : {Shape{1, 1, 4, 4}, {4, 1}, {1, 1, 1, 1, 1}}) {
    TestGraph t;
    const ValueId sums = t.add(
        "NhwcConvInteger",
        {t.input("x", {1, 2, 4, 3}, DType::u8), t.g.add_constant("w", Tensor(DType::i8, {4, 3, 1, 1}))}, {}, "retort");
    t.output(t.add("Mul", {t.add("Cast", {sums}, {{"to", int64_t(DType::f32)}}), t.weight("s", shape)}), "y");
    expect_no_rewrite(t, {"integer_conv_scales"});
  }
}
TEST(IntegerConv, OtherAddendsStay) {
  for (const Shape& shape : {Shape{1, 1, 4, 4}, {4, 1}, {1, 1, 1, 1, 4}, {1}}) {
    TestGraph t;
    t.output(t.add("Add", {converted_convolution(t), t.weight("b", shape)}), "y");
    expect_no_rewrite(t, {"integer_conv_bias"});
  }
  TestGraph second;
  const ValueId biased = converted_convolution(second, {second.weight("a", {4})});
  second.output(second.add("Add", {biased, second.weight("b", {4})}), "y");
  expect_no_rewrite(second, {"integer_conv_bias"});
  TestGraph activated;
  const ValueId positive = converted_convolution(activated, {}, {{"activation", std::string("relu")}});
  activated.output(activated.add("Add", {positive, activated.weight("b", {4})}), "y");
  expect_no_rewrite(activated, {"integer_conv_bias"});
}

TEST(IntegerConv, ASecondAddendStays) {
  TestGraph t;
  const ValueId sum = converted_convolution(t, {ValueId::none, t.input("r", {1, 2, 4, 4})});
  t.output(t.add("Add", {sum, t.input("s", {1, 2, 4, 4})}), "y");
  expect_no_rewrite(t, {"epilogue_residual"});
}

}  // namespace
}  // namespace retort
