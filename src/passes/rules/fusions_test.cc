// Tests that convolutions and products absorb the nodes around them, each on the smallest graph that has them.
#include <limits>

#include "passes/passes_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

// A value that has other consumers cannot be absorbed.
void expect_stays_when_shared(const std::function<ValueId(TestGraph&)>& make, const char* last,
                              std::initializer_list<std::string_view> rules) {
  TestGraph t;
  const ValueId shared = make(t);
  t.output(t.add(last, {shared}), "y");
  t.output(shared, "shared");
  expect_no_rewrite(t, rules);
}

ValueId conv(TestGraph& t, const Shape& weights = {4, 2, 3, 3}, Attributes attributes = {}) {
  return t.add("Conv", {t.input("x", {1, 2, 5, 5}), t.weight("w", weights)}, std::move(attributes));
}

TEST(ConvAffine, BatchNormalization) {
  TestGraph t;
  const ValueId c = conv(t), variance = t.floats({4}, {1, 2, 0.5f, 4});
  t.output(
      t.add("BatchNormalization", {c, t.weight("scale", {4}), t.weight("b", {4}), t.weight("mean", {4}), variance}),
      "y");
  expect_rewrite(t, {"conv_batch_norm"}, R"(graph(x: float32[1,2,5,5]) {
  y: float32[1,4,3,3] = Conv(x, weights#1, bias#1)
  return y
}
)");
}

TEST(ConvAffine, ArithmeticWithAConstantOfEachChannel) {
  TestGraph t;
  ValueId v = conv(t);
  const ValueId k = t.floats({4, 1, 1}, {1, 2, 0.5f, 4});
  for (const char* op : {"Mul", "Div", "Add", "Sub"}) v = t.add(op, {v, k});
  t.output(v, "y");
  expect_rewrite(t, {"conv_mul", "conv_div", "conv_add", "conv_sub"}, R"(graph(x: float32[1,2,5,5]) {
  y: float32[1,4,3,3] = Conv(x, weights#1, bias#1)
  return y
}
)");
}

TEST(ConvAffine, WeightsOfARunStay) {
  TestGraph t;
  const ValueId c = t.add("Conv", {t.input("x", {1, 2, 5, 5}), t.input("w", {4, 2, 3, 3})}),
                variance = t.floats({4}, {1, 2, 0.5f, 4});
  t.output(t.add("Mul", {c, t.weight("k", {4, 1, 1})}), "product");
  t.output(
      t.add("BatchNormalization", {t.add("ConvTranspose", {t.input("z", {1, 2, 5, 5}), t.input("u", {2, 4, 3, 3})}),
                                   t.weight("scale", {4}), t.weight("b", {4}), t.weight("mean", {4}), variance}),
      "normal");
  expect_no_rewrite(t, {"conv_mul", "conv_batch_norm"});
}

TEST(ConvAffine, AConstantOfEachPixelStaysOutside) {
  TestGraph t;
  t.output(t.add("Mul", {conv(t), t.weight("k", {1, 3, 3})}), "y");
  expect_no_rewrite(t, {"conv_mul"});
}

TEST(BatchNormAffine, MultiplicationAndAddition) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 2, 3, 3}), variance = t.floats({2}, {1, 2});
  t.output(
      t.add("BatchNormalization", {x, t.weight("scale", {2}), t.weight("b", {2}), t.weight("mean", {2}), variance}),
      "y");
  expect_rewrite(t, {"batch_norm_affine"}, R"(graph(x: float32[1,2,3,3]) {
  Mul#1: float32[1,2,3,3] = Mul(x, scale#1)
  y: float32[1,2,3,3] = Add(Mul#1, shift#1)
  return y
}
)");
}

// Before its input has as many channels as there are parameters, a product would repeat that of one.
TEST(BatchNormAffine, ChannelsOfTheRun) {
  TestGraph t;
  const ValueId x = t.input("x", {1, t.symbol("c"), 3, 3}), variance = t.floats({2}, {1, 2});
  t.output(
      t.add("BatchNormalization", {x, t.weight("scale", {2}), t.weight("b", {2}), t.weight("mean", {2}), variance}),
      "y");
  expect_rewrite(t, {"batch_norm_affine"}, R"(graph(x: float32[1,c,3,3]) {
  y: float32[1,c,3,3] = retort.RowAffine(x, scale#1, shift#1) {planes=1}
  return y
}
)");
}

TEST(PadConv, ZerosAroundTheImage) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 2, 5, 5});
  const ValueId padded = t.add("Pad", {x, t.ints({0, 0, 1, 0, 0, 0, 0, 2})});
  t.output(t.add("Conv", {padded, t.weight("w", {4, 2, 3, 3})}, {{"pads", Ints{0, 1, 0, 0}}}), "y");
  expect_rewrite(t, {"pad_conv"}, R"(graph(x: float32[1,2,5,5]) {
  y: float32[1,4,4,6] = Conv(x, w) {pads=[1,1,0,2]}
  return y
}
)");
}

TEST(PadConv, OtherPaddingStays) {
  for (const float fill : {0.0f, 1.0f}) {
    TestGraph t;
    const ValueId x = t.input("x", {1, 2, 5, 5}),
                  pads = t.ints({0, fill == 0, 1, 1, 0, 0, 1, 1});  // a channel, or ones
    const ValueId padded = t.add("Pad", {x, pads, t.scalar(fill)});
    t.output(t.add("Conv", {padded, t.weight("w", {4, fill == 0 ? 3 : 2, 3, 3})}), "y");
    expect_no_rewrite(t, {"pad_conv"});
  }
}

TEST(GlobalPool, MeanOfAllPixels) {
  TestGraph t;
  t.output(t.add("ReduceMean", {t.input("x", {1, 2, 3, 3}), t.ints({2, 3})}, {{"keepdims", int64_t(1)}}), "y");
  expect_rewrite(t, {"global_pool"}, R"(graph(x: float32[1,2,3,3]) {
  y: float32[1,2,1,1] = GlobalAveragePool(x)
  return y
}
)");
}

void maximum_of_all_pixels(TestGraph& t) { t.output(t.add("GlobalMaxPool", {t.input("x", {2, 3, 4, 5})}), "y"); }
const RuleExample maximum_of_all_pixels_example("maximum_of_all_pixels", {"global_max_pool"}, maximum_of_all_pixels,
                                                R"(graph(x: float32[2,3,4,5]) {
  y: float32[2,3,1,1] = ReduceMax(x, axes#1)
  return y
}
)");

TEST(GlobalPool, MeanOfRowsStays) {
  TestGraph t;
  t.output(t.add("ReduceMean", {t.input("x", {1, 2, 3, 3}), t.ints({3})}, {{"keepdims", int64_t(1)}}), "y");
  expect_no_rewrite(t, {"global_pool"});
}

TEST(Linear, ProductScaleAndBias) {
  TestGraph t;
  ValueId v = t.add("MatMul", {t.input("x", {2, 3, 4}), t.weight("w", {4, 5})});
  v = t.add("Mul", {t.scalar(0.5f), v});
  t.output(t.add("Add", {t.weight("b", {5}), v}), "y");
  expect_rewrite(t, {"linear_from_matmul", "linear_scale", "linear_bias"}, R"(graph(x: float32[2,3,4]) {
  y: float32[2,3,5] = retort.Linear(x, w, bias#1, _, factors#1)
  return y
}
)");
}

TEST(Linear, Gemm) {
  TestGraph t;
  const ValueId x = t.input("x", {3, 4}), w = t.weight("w", {5, 4}), b = t.weight("b", {5});
  t.output(t.add("Gemm", {x, w, b}, {{"transB", int64_t(1)}, {"alpha", 0.5f}, {"beta", 2.0f}}), "y");
  expect_rewrite(t, {"linear_from_gemm"}, R"(graph(x: float32[3,4]) {
  y: float32[3,5] = retort.Linear(x, weights#1, bias#1) {trans_b=1}
  return y
}
)");
}

void scaled_product_by_transposed_weights(TestGraph& t) {
  const ValueId x = t.input("x", {2, 3, 4});
  const ValueId v =
      t.add("FusedMatMul", {x, t.weight("w", {5, 4})}, {{"transB", int64_t(1)}, {"alpha", 0.5f}}, "com.microsoft");
  t.output(t.add("Add", {v, t.weight("b", {5})}), "y");
}
const RuleExample example_of_a_scaled_product("scaled_product", {"linear_from_fused_matmul", "linear_bias"},
                                              scaled_product_by_transposed_weights, R"(graph(x: float32[2,3,4]) {
  y: float32[2,3,5] = retort.Linear(x, w, bias#1, _, factors#1) {trans_b=1}
  return y
}
)");

TEST(Linear, ProductByWeightsWithoutScale) {
  TestGraph t;
  t.output(t.add("FusedMatMul", {t.input("x", {3, 4}), t.weight("w", {4, 5})}, {}, "com.microsoft"), "y");
  expect_rewrite(t, {"linear_from_fused_matmul"}, R"(graph(x: float32[3,4]) {
  y: float32[3,5] = retort.Linear(x, w)
  return y
}
)");
}

// Without running it, since infinite results are not near each other.
TEST(Linear, AProductTimesInfinityStays) {
  TestGraph t;
  const Attributes attributes{{"alpha", std::numeric_limits<float>::infinity()}};
  t.output(t.add("FusedMatMul", {t.input("x", {3, 4}), t.weight("w", {4, 5})}, attributes, "com.microsoft"), "y");
  const std::string before = print(t.g);
  const PassOptions options;
  PassContext context(options);
  constexpr std::string_view kRules[] = {"linear_from_fused_matmul"};
  rewrite(t.g, rules_named(kRules), context);
  EXPECT_EQ(print(t.g), before);
}

TEST(Linear, ProductsOfTransposedInputsStay) {
  for (const char* how : {"transA", "transBatchA"}) {
    TestGraph t;
    const ValueId x = t.input("x", {4, 4, 4}), w = t.weight("w", {4, 5});
    t.output(t.add("FusedMatMul", {x, w}, {{how, int64_t(1)}}, "com.microsoft"), "y");
    expect_no_rewrite(t, {"linear_from_fused_matmul"});
  }
}

TEST(Linear, ProductsOfTwoInputsStay) {
  TestGraph t;
  t.output(t.add("MatMul", {t.input("x", {3, 4}), t.input("z", {4, 5})}), "y");
  expect_no_rewrite(t, {"linear_from_matmul"});
}

ValueId linear(TestGraph& t) {
  return t.add("Linear", {t.input("x", {3, 4}), t.weight("w", {4, 5}), t.weight("b", {5})}, {}, "retort");
}

TEST(Epilogue, ResidualAndActivation) {
  TestGraph t;
  t.output(t.add("Relu", {t.add("Add", {t.input("skip", {3, 5}), linear(t)})}), "y");
  expect_rewrite(t, {"epilogue_residual", "epilogue_relu"}, R"(graph(skip: float32[3,5], x: float32[3,4]) {
  y: float32[3,5] = retort.Linear(x, w, b, skip) {activation="relu", activation_a=0, activation_b=0}
  return y
}
)");
}

/// What is added to the result of a convolution.
enum class Other { input, own_input, itself };

/// The sum of a channels-last convolution of codes and something else. The convolution's codes have the scale 2.
void add_sum_of_codes(TestGraph& t, int64_t group, float read_scale, Other with = Other::input) {
  const ValueId scale = t.floats({}, {0.5f}), zero = t.g.add_constant("zero", Tensor::of<uint8_t>({}, {3}));
  const ValueId signed_zero = t.g.add_constant("w_zero", Tensor::of<int8_t>({}, {0}));
  Tensor filters(DType::i8, {4, 4 / group, 1, 1});
  for (size_t i = 0; i < filters.count(); ++i) filters.mutable_data<int8_t>()[i] = int8_t(int(i) - 7);
  const auto codes = [&](const char* name) {
    return t.add("QuantizeLinear", {t.input(name, {1, 3, 3, 4}), scale, zero});
  };
  const ValueId other = with == Other::input ? codes("r") : ValueId::none, x = codes("x");
  const ValueId conv = t.add(
      "NhwcQLinearConv", {x, scale, zero, t.g.add_constant("f", filters), scale, signed_zero, t.floats({}, {2}), zero},
      {{"group", group}}, "retort");
  const ValueId own = t.floats({}, {read_scale}), sum = t.floats({}, {4});
  const ValueId left = with == Other::input ? other : with == Other::own_input ? x : conv;
  const ValueId left_scale = with == Other::itself ? own : scale;
  t.output(t.add("QLinearAdd", {left, left_scale, zero, conv, own, zero, sum, zero}, {}, "retort"), "y");
}

TEST(Epilogue, SumOfCodes) {
  TestGraph t;
  add_sum_of_codes(t, 1, 2);
  expect_rewrite(t, {"epilogue_codes"}, R"(graph(r: float32[1,3,3,4], x: float32[1,3,3,4]) {
  QuantizeLinear#1: uint8[1,3,3,4] = QuantizeLinear(r, w#1, zero)
  QuantizeLinear#2: uint8[1,3,3,4] = QuantizeLinear(x, w#1, zero)
  y: uint8[1,3,3,4] = retort.NhwcQLinearConv(QuantizeLinear#2, w#1, zero, f, w#1, w_zero, w#2, zero, _, QuantizeLinear#1, w#1, zero, w#3, zero) {group=1}
  return y
}
)");
}

TEST(Epilogue, SumOfDepthwiseCodesStays) {
  TestGraph t;
  add_sum_of_codes(t, 4, 2);
  expect_no_rewrite(t, {"epilogue_codes"});
}

TEST(Epilogue, SumThatReadsCodesAtAnotherScaleStays) {
  TestGraph t;
  add_sum_of_codes(t, 1, 4);
  expect_no_rewrite(t, {"epilogue_codes"});
}

TEST(Epilogue, SumOfAConvolutionAndItsInput) {
  TestGraph t;
  add_sum_of_codes(t, 1, 2, Other::own_input);
  expect_rewrite(t, {"epilogue_codes"}, R"(graph(x: float32[1,3,3,4]) {
  QuantizeLinear#1: uint8[1,3,3,4] = QuantizeLinear(x, w#1, zero)
  y: uint8[1,3,3,4] = retort.NhwcQLinearConv(QuantizeLinear#1, w#1, zero, f, w#1, w_zero, w#2, zero, _, QuantizeLinear#1, w#1, zero, w#3, zero) {group=1}
  return y
}
)");
}

TEST(Epilogue, SumOfAConvolutionAndItselfStays) {
  TestGraph t;
  add_sum_of_codes(t, 1, 2, Other::itself);
  expect_no_rewrite(t, {"epilogue_codes"});
}

TEST(Epilogue, EveryActivation) {
  const std::tuple<const char*, Attributes, std::string_view, const char*> cases[] = {
      {"Relu", {}, "epilogue_relu", R"(activation="relu", activation_a=0, activation_b=0)"},
      {"Sigmoid", {}, "epilogue_sigmoid", R"(activation="sigmoid", activation_a=0, activation_b=0)"},
      {"Tanh", {}, "epilogue_tanh", R"(activation="tanh", activation_a=0, activation_b=0)"},
      {"LeakyRelu",
       {{"alpha", 0.25f}},
       "epilogue_leaky_relu",
       R"(activation="leaky_relu", activation_a=0.25, activation_b=0)"},
      {"HardSigmoid",
       {{"alpha", 0.25f}},
       "epilogue_hard_sigmoid",
       R"(activation="hard_sigmoid", activation_a=0.25, activation_b=0.5)"},
      {"HardSwish", {}, "epilogue_hard_swish", R"(activation="hard_swish", activation_a=0.16666667, activation_b=0.5)"},
      {"Gelu", {}, "epilogue_gelu", R"(activation="gelu_erf", activation_a=0, activation_b=0)"},
      {"Gelu",
       {{"approximate", std::string("tanh")}},
       "epilogue_gelu",
       R"(activation="gelu_tanh", activation_a=0, activation_b=0)"},
      {"Swish", {}, "epilogue_swish", R"(activation="silu", activation_a=0, activation_b=0)"},
  };
  for (const auto& [op, attributes, rule, activation] : cases) {
    TestGraph t;
    t.output(t.add(op, {linear(t)}, attributes), "y");
    expect_rewrite(t, {rule},
                   std::string("graph(x: float32[3,4]) {\n  y: float32[3,5] = retort.Linear(x, w, b) {") + activation +
                       "}\n  return y\n}\n");
    expect_stays_when_shared(linear, op, {rule});
  }
}

TEST(Epilogue, ANormalizationTakesAnActivationAndNoResidual) {
  const auto norm = [](TestGraph& t) {
    return t.add_multi({.type = "GroupNormalization",
                        .inputs = {t.input("x", {1, 3, 4}), t.weight("g", {4}), t.weight("b", {4})},
                        .attributes = {{"num_groups", int64_t(2)}},
                        .domain = "retort"})[0];
  };
  TestGraph t;
  t.output(t.add("Relu", {norm(t)}), "y");
  expect_rewrite(t, {"epilogue_relu"}, R"(graph(x: float32[1,3,4]) {
  y: float32[1,3,4] = retort.GroupNormalization(x, g, b) {activation="relu", activation_a=0, activation_b=0, num_groups=2}
  return y
}
)");
  TestGraph other;
  other.output(other.add("Add", {norm(other), other.input("r", {1, 3, 4})}), "y");
  expect_no_rewrite(other, {"epilogue_residual"});
}

TEST(Epilogue, ClipWithConstantBounds) {
  TestGraph t;
  t.output(t.add("Clip", {linear(t), t.scalar(0), t.scalar(6)}), "y");
  expect_rewrite(t, {"epilogue_clip"}, R"(graph(x: float32[3,4]) {
  y: float32[3,5] = retort.Linear(x, w, b) {activation="clip", activation_a=0, activation_b=6}
  return y
}
)");
}

}  // namespace
}  // namespace retort
