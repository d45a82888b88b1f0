// Tests that operators between DequantizeLinear and QuantizeLinear are computed on codes.
#include "passes/passes_testing.h"

namespace retort {
namespace {

/// A graph to which the nodes of a quantiser are added.
struct Quantizer {
  TestGraph& t;
  ValueId code(int value, bool is_signed = false) {
    return t.g.add_constant(t.g.unique_name("z"), is_signed ? Tensor::of<int8_t>({}, {int8_t(value)})
                                                            : Tensor::of<uint8_t>({}, {uint8_t(value)}));
  }
  /// Codes of x, and their real numbers.
  ValueId coded(ValueId x, float scale, ValueId zero) { return t.add("QuantizeLinear", {x, t.scalar(scale), zero}); }
  ValueId real(ValueId codes, float scale, ValueId zero) {
    return t.add("DequantizeLinear", {codes, t.scalar(scale), zero});
  }
  /// An input whose numbers are those of codes.
  ValueId quantized_input(const char* name, Shape shape, float scale, ValueId zero) {
    return real(coded(t.input(name, std::move(shape)), scale, zero), scale, zero);
  }
  static Tensor signed_codes(Shape shape) {
    Tensor codes(DType::i8, std::move(shape));
    for (size_t i = 0; i < codes.count(); ++i) codes.mutable_data<int8_t>()[i] = int8_t(int(i * 37 % 255) - 127);
    return codes;
  }
  /// Constant weights with one scale per index along `axis`.
  ValueId weights(Shape shape, int64_t axis, const std::vector<float>& scales) {
    const ValueId codes = t.g.add_constant("w", signed_codes(std::move(shape)));
    const ValueId zeros = t.g.add_constant("w_zero", Tensor(DType::i8, {int64_t(scales.size())}));
    return t.add("DequantizeLinear", {codes, t.floats({int64_t(scales.size())}, scales), zeros}, {{"axis", axis}});
  }
  ValueId bias(const std::vector<int32_t>& codes, const std::vector<float>& scales) {
    const int64_t n = int64_t(codes.size());
    return t.add("DequantizeLinear", {t.g.add_constant("b", Tensor::of<int32_t>({n}, codes)), t.floats({n}, scales)},
                 {{"axis", int64_t(0)}});
  }
};

void convolution_with_bias(TestGraph& t) {
  Quantizer q{t};
  const ValueId zero = q.code(3), out_zero = q.code(0);
  const ValueId x = q.quantized_input("x", {1, 2, 5, 5}, 0.25f, zero);
  const ValueId conv =
      t.add("Conv", {x, q.weights({2, 2, 3, 3}, 0, {0.5f, 0.25f}), q.bias({100, -7}, {0.125f, 0.0625f})});
  t.output(q.coded(t.add("Relu", {conv}), 0.5f, out_zero), "y");
}
const RuleExample example_of_convolution_with_bias("quantized_convolution_with_bias", {"qdq_conv"},
                                                   convolution_with_bias, R"(graph(x: float32[1,2,5,5]) {
  QuantizeLinear#1: uint8[1,2,5,5] = QuantizeLinear(x, c#1, z#1)
  y: uint8[1,2,3,3] = QLinearConv(QuantizeLinear#1, c#2, z#1, w, w#1, w_zero, c#3, z#2, b)
  return y
}
)");

void a_bias_with_another_scale_has_real_numbers(TestGraph& t) {
  Quantizer q{t};
  const ValueId x = q.quantized_input("x", {1, 2, 5, 5}, 0.25f, q.code(3));
  const ValueId conv = t.add("Conv", {x, q.weights({2, 2, 3, 3}, 0, {0.5f, 0.25f}), q.bias({1, 2}, {0.5f, 0.5f})});
  t.output(q.coded(conv, 0.5f, q.code(0)), "y");
}
const RuleExample example_of_a_bias_with_another_scale_has_real_numbers(
    "quantized_a_bias_with_another_scale_has_real_numbers", {"qdq_conv"}, a_bias_with_another_scale_has_real_numbers,
    R"(graph(x: float32[1,2,5,5]) {
  QuantizeLinear#1: uint8[1,2,5,5] = QuantizeLinear(x, c#1, z#1)
  y: uint8[1,2,3,3] = retort.QLinearConv(QuantizeLinear#1, c#2, z#1, w, w#1, w_zero, c#3, z#2, bias#1)
  return y
}
)");

TEST(Quantized, ReluBeforeANegativeScaleStays) {
  TestGraph t;
  Quantizer q{t};
  const ValueId x = q.quantized_input("x", {1, 2, 5, 5}, 0.25f, q.code(3));
  const ValueId conv = t.add("Conv", {x, q.weights({2, 2, 3, 3}, 0, {0.5f, 0.25f})});
  t.output(q.coded(t.add("Relu", {conv}), -0.5f, q.code(0)), "y");
  expect_no_rewrite(t, {"qdq_conv"});
}

// 6 divided by the scale is a little less than 255.
void a_limit_that_rounds_to_the_last_code(TestGraph& t) {
  Quantizer q{t};
  const ValueId x = q.quantized_input("x", {1, 2, 5, 5}, 0.25f, q.code(3));
  const ValueId conv = t.add("Conv", {x, q.weights({2, 2, 3, 3}, 0, {0.5f, 0.25f})});
  t.output(q.coded(t.add("Clip", {conv, t.scalar(-1e-3f), t.scalar(6)}), 0.02353f, q.code(0)), "y");
}
const RuleExample example_of_a_limit_that_rounds_to_the_last_code("quantized_a_limit_that_rounds_to_the_last_code",
                                                                  {"qdq_conv"}, a_limit_that_rounds_to_the_last_code,
                                                                  R"(graph(x: float32[1,2,5,5]) {
  QuantizeLinear#1: uint8[1,2,5,5] = QuantizeLinear(x, c#1, z#1)
  y: uint8[1,2,3,3] = QLinearConv(QuantizeLinear#1, c#2, z#1, w, w#1, w_zero, c#3, z#2)
  return y
}
)");

TEST(Quantized, ALimitWithAnotherCodeStays) {
  TestGraph t;
  Quantizer q{t};
  const ValueId x = q.quantized_input("x", {1, 2, 5, 5}, 0.25f, q.code(3));
  const ValueId conv = t.add("Conv", {x, q.weights({2, 2, 3, 3}, 0, {0.5f, 0.25f})});
  t.output(q.coded(t.add("Clip", {conv, t.scalar(0), t.scalar(6)}), 6 / 254.4f, q.code(0)), "y");
  expect_no_rewrite(t, {"qdq_conv"});
}

TEST(Quantized, ABiasOfAnotherLengthIsRefused) {
  TestGraph t;
  Quantizer q{t};
  const ValueId x = q.quantized_input("x", {1, 2, 5, 5}, 0.25f, q.code(3));
  const ValueId w = q.weights({2, 2, 3, 3}, 0, {0.5f, 0.25f});
  EXPECT_THROW(t.add("Conv", {x, w, q.bias({1, 2, 3}, {0.125f, 0.0625f, 1})}), Error);
}

TEST(Quantized, ABiasThatARunComputesStays) {
  TestGraph t;
  Quantizer q{t};
  const ValueId x = q.quantized_input("x", {1, 2, 5, 5}, 0.25f, q.code(3));
  const ValueId conv = t.add("Conv", {x, q.weights({2, 2, 3, 3}, 0, {0.5f, 0.25f}), t.input("bias", {2})});
  t.output(q.coded(conv, 0.5f, q.code(0)), "y");
  expect_no_rewrite(t, {"qdq_conv"});
}

TEST(Quantized, ReluThatTheRangeOfTheCodesDoesNotContainStays) {
  TestGraph t;
  Quantizer q{t};
  const ValueId x = q.quantized_input("x", {1, 2, 5, 5}, 0.25f, q.code(3));
  const ValueId conv = t.add("Conv", {x, q.weights({2, 2, 3, 3}, 0, {0.5f, 0.25f})});
  t.output(q.coded(t.add("Relu", {conv}), 0.5f, q.code(1)), "y");
  expect_no_rewrite(t, {"qdq_conv"});
}

void sum(TestGraph& t) {
  Quantizer q{t};
  const ValueId a = q.quantized_input("a", {2, 3}, 0.25f, q.code(3));
  const ValueId b = q.quantized_input("b", {2, 3}, 0.5f, q.code(-5, true));
  t.output(q.coded(t.add("Add", {a, b}), 0.125f, q.code(100)), "y");
}
const RuleExample example_of_sum("quantized_sum", {"qdq_add"}, sum, R"(graph(a: float32[2,3], b: float32[2,3]) {
  QuantizeLinear#1: uint8[2,3] = QuantizeLinear(a, c#1, z#1)
  QuantizeLinear#2: int8[2,3] = QuantizeLinear(b, c#2, z#2)
  y: uint8[2,3] = retort.QLinearAdd(QuantizeLinear#1, c#3, z#1, QuantizeLinear#2, c#4, z#2, c#5, z#3)
  return y
}
)");

void sum_of_a_row(TestGraph& t) {
  Quantizer q{t};
  const Tensor row = Tensor::of<int8_t>({40}, std::vector<int8_t>(40, -100));
  const ValueId a = t.add("DequantizeLinear", {t.g.add_constant("row", row), t.scalar(0.5f), q.code(-5, true)});
  const ValueId b = q.quantized_input("b", {2, 3, 40}, 0.25f, q.code(3));
  t.output(q.coded(t.add("Add", {a, b}), 0.125f, q.code(100)), "y");
}
const RuleExample example_of_sum_of_a_row("quantized_sum_of_a_row", {"qdq_add"}, sum_of_a_row,
                                          R"(graph(b: float32[2,3,40]) {
  QuantizeLinear#1: uint8[2,3,40] = QuantizeLinear(b, c#1, z#1)
  y: uint8[2,3,40] = retort.QLinearAdd(QuantizeLinear#1, c#2, z#1, row, c#3, z#2, c#4, z#3)
  return y
}
)");

void product_of_channels(TestGraph& t) {
  Quantizer q{t};
  const ValueId a = q.quantized_input("a", {2, 3, 11, 12}, 0.25f, q.code(3));
  const ValueId b = q.quantized_input("b", {3, 1, 1}, 0.5f, q.code(-5, true));
  t.output(q.coded(t.add("Mul", {a, b}), 0.125f, q.code(100)), "y");
}
const RuleExample example_of_product_of_channels("quantized_product_of_channels", {"qdq_mul"}, product_of_channels,
                                                 R"(graph(a: float32[2,3,11,12], b: float32[3,1,1]) {
  QuantizeLinear#1: uint8[2,3,11,12] = QuantizeLinear(a, c#1, z#1)
  QuantizeLinear#2: int8[3,1,1] = QuantizeLinear(b, c#2, z#2)
  Unsqueeze#1: int8[1,3,1,1] = Unsqueeze(QuantizeLinear#2, axes#1)
  y: uint8[2,3,11,12] = retort.QLinearMul(QuantizeLinear#1, c#3, z#1, Unsqueeze#1, c#4, z#2, c#5, z#3)
  return y
}
)");

TEST(Quantized, CodesThatAreRepeatedInShortRunsStay) {
  for (const Shape& b : {Shape{2, 3, 1, 1}, Shape{8}}) {
    TestGraph t;
    Quantizer q{t};
    const ValueId left = q.quantized_input("a", {2, 3, 8, 8}, 1, q.code(3)),
                  right = q.quantized_input("b", b, 1, q.code(0));
    t.output(q.coded(t.add("Mul", {left, right}), 0.125f, q.code(100)), "y");
    expect_no_rewrite(t, {"qdq_mul"});
  }
}

void product_of_codes(TestGraph& t) {
  Quantizer q{t};
  const ValueId a = q.quantized_input("a", {2, 3}, 0.25f, q.code(3));
  const ValueId b = q.quantized_input("b", {2, 3}, 0.5f, q.code(-5, true));
  t.output(q.coded(t.add("Mul", {a, b}), 0.125f, q.code(100)), "y");
}
const RuleExample example_of_product_of_codes("quantized_product_of_codes", {"qdq_mul"}, product_of_codes,
                                              R"(graph(a: float32[2,3], b: float32[2,3]) {
  QuantizeLinear#1: uint8[2,3] = QuantizeLinear(a, c#1, z#1)
  QuantizeLinear#2: int8[2,3] = QuantizeLinear(b, c#2, z#2)
  y: uint8[2,3] = retort.QLinearMul(QuantizeLinear#1, c#3, z#1, QuantizeLinear#2, c#4, z#2, c#5, z#3)
  return y
}
)");

void product(TestGraph& t) {
  Quantizer q{t};
  const ValueId a = q.quantized_input("a", {2, 3}, 0.25f, q.code(3));
  t.output(t.add("Gemm", {a, q.weights({4, 3}, 0, {0.5f, 0.25f, 1, 2}), t.weight("c", {4})}, {{"transB", int64_t(1)}}),
           "y");
}
const RuleExample example_of_product("quantized_product", {"qdq_gemm"}, product, R"(graph(a: float32[2,3]) {
  QuantizeLinear#1: uint8[2,3] = QuantizeLinear(a, c#1, z#1)
  MatMulInteger#1: int32[2,4] = MatMulInteger(QuantizeLinear#1, const#1, z#1, w_zero)
  Cast#1: float32[2,4] = Cast(MatMulInteger#1) {to=1}
  Mul#1: float32[2,4] = Mul(Cast#1, const#2)
  y: float32[2,4] = Add(Mul#1, c)
  return y
}
)");

void product_of_two_inputs(TestGraph& t) {
  Quantizer q{t};
  const ValueId a = q.quantized_input("a", {2, 3}, 0.25f, q.code(3));
  const ValueId b = q.quantized_input("b", {3, 4}, 0.5f, q.code(7));
  t.output(t.add("MatMul", {a, b}), "y");
}
const RuleExample example_of_product_of_two_inputs("quantized_product_of_two_inputs", {"qdq_matmul"},
                                                   product_of_two_inputs, R"(graph(a: float32[2,3], b: float32[3,4]) {
  QuantizeLinear#1: uint8[2,3] = QuantizeLinear(a, c#1, z#1)
  QuantizeLinear#2: uint8[3,4] = QuantizeLinear(b, c#2, z#2)
  MatMulInteger#1: int32[2,4] = MatMulInteger(QuantizeLinear#1, QuantizeLinear#2, z#1, z#2)
  Cast#1: float32[2,4] = Cast(MatMulInteger#1) {to=1}
  y: float32[2,4] = Mul(Cast#1, const#1)
  return y
}
)");

void moves(TestGraph& t) {
  Quantizer q{t};
  const ValueId zero = q.code(3);
  const ValueId x = q.quantized_input("x", {1, 2, 5, 5}, 0.25f, zero);
  const ValueId pooled = q.coded(t.add("MaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}), 0.25f, zero);
  t.output(q.coded(t.add("Flatten", {q.real(pooled, 0.25f, zero)}), 0.25f, zero), "y");
}
const RuleExample example_of_moves("quantized_moves", {"qdq_move"}, moves, R"(graph(x: float32[1,2,5,5]) {
  QuantizeLinear#1: uint8[1,2,5,5] = QuantizeLinear(x, c#1, z#1)
  MaxPool#1: uint8[1,2,4,4] = MaxPool(QuantizeLinear#1) {kernel_shape=[2,2]}
  y: uint8[1,32] = Flatten(MaxPool#1)
  return y
}
)");

TEST(Quantized, AMoveToOtherCodesStays) {
  TestGraph t;
  Quantizer q{t};
  const ValueId zero = q.code(3);
  const ValueId x = q.quantized_input("x", {1, 2, 5, 5}, 0.25f, zero);
  t.output(q.coded(t.add("Flatten", {x}), 0.5f, zero), "y");
  expect_no_rewrite(t, {"qdq_move"});
}

// x · sigmoid(x) of codes.
void table(TestGraph& t) {
  Quantizer q{t};
  const ValueId zero = q.code(3), low = q.code(0);
  const ValueId x = q.quantized_input("x", {2, 300}, 0.25f, zero);
  const ValueId gate = q.real(q.coded(t.add("Sigmoid", {x}), 1.0f / 256, low), 1.0f / 256, low);
  t.output(q.coded(t.add("Mul", {x, gate}), 0.125f, q.code(-100, true)), "y");
}
const RuleExample example_of_table("quantized_table", {"qdq_table"}, table, R"(graph(x: float32[2,300]) {
  QuantizeLinear#1: uint8[2,300] = QuantizeLinear(x, c#1, z#1)
  y: int8[2,300] = retort.MapCodes(QuantizeLinear#1, table#1)
  return y
}
)");

TEST(Quantized, ALongChainOfFloatsStays) {
  TestGraph t;
  Quantizer q{t};
  const ValueId zero = q.code(3);
  ValueId x = q.quantized_input("x", {2, 300}, 0.25f, zero);
  for (int i = 0; i < 20'000; ++i) x = t.add("Sin", {x});
  t.output(q.coded(x, 0.5f, zero), "y");
  PassOptions options;
  PassContext context(options);
  rewrite(t.g, rules_named(std::array<std::string_view, 1>{"qdq_table"}), context);
  EXPECT_TRUE(context.take_counts().empty());
}

void changed_scale(TestGraph& t) {
  Quantizer q{t};
  const ValueId zero = q.code(3);
  const ValueId x = q.quantized_input("x", {2, 300}, 0.25f, zero);
  const ValueId same = q.real(q.coded(x, 0.25f, zero), 0.25f, zero);
  t.output(q.coded(same, 0.5f, zero), "y");
}
const RuleExample example_of_changed_scale("quantized_changed_scale", {"qdq_table"}, changed_scale,
                                           R"(graph(x: float32[2,300]) {
  QuantizeLinear#1: uint8[2,300] = QuantizeLinear(x, c#1, z#1)
  y: uint8[2,300] = retort.MapCodes(QuantizeLinear#1, table#1)
  return y
}
)");

TEST(Quantized, FunctionsOfTwoTensorsStay) {
  TestGraph t;
  Quantizer q{t};
  const ValueId a = q.quantized_input("a", {2, 3}, 0.25f, q.code(3));
  const ValueId b = q.quantized_input("b", {2, 3}, 0.5f, q.code(5));
  t.output(q.coded(t.add("Mul", {a, t.add("Sigmoid", {b})}), 0.125f, q.code(100)), "y");
  expect_no_rewrite(t, {"qdq_table"});
}

TEST(Quantized, FunctionsWithANumberForEachChannelStay) {
  TestGraph t;
  Quantizer q{t};
  const ValueId a = q.quantized_input("a", {2, 3}, 0.25f, q.code(3));
  t.output(q.coded(t.add("PRelu", {a, t.floats({3}, {1, 2, 3})}), 0.125f, q.code(100)), "y");
  expect_no_rewrite(t, {"qdq_table"});
}

TEST(Quantized, FunctionsWhoseResultIsLargerStay) {
  TestGraph t;
  Quantizer q{t};
  const ValueId a = q.quantized_input("a", {2, 3}, 0.25f, q.code(3));
  t.output(q.coded(t.add("Add", {a, t.floats({1, 1, 1}, {1})}), 0.125f, q.code(100)), "y");
  expect_no_rewrite(t, {"qdq_table"});
}

void joined(TestGraph& t) {
  Quantizer q{t};
  const ValueId zero = q.code(3);
  const ValueId a = q.quantized_input("a", {2, 3}, 0.25f, zero);
  const ValueId b = q.quantized_input("b", {2, 5}, 0.5f, q.code(7));
  t.output(q.coded(t.add("Concat", {a, b}, {{"axis", int64_t(1)}}), 0.25f, zero), "y");
}
const RuleExample example_of_joined("quantized_joined", {"qdq_concat"}, joined,
                                    R"(graph(a: float32[2,3], b: float32[2,5]) {
  QuantizeLinear#1: uint8[2,3] = QuantizeLinear(a, c#1, z#1)
  QuantizeLinear#2: uint8[2,5] = QuantizeLinear(b, c#2, z#2)
  MapCodes#1: uint8[2,5] = retort.MapCodes(QuantizeLinear#2, table#1)
  y: uint8[2,8] = Concat(QuantizeLinear#1, MapCodes#1) {axis=1}
  return y
}
)");

TEST(Quantized, FloatsThatAreJoinedToCodesStay) {
  TestGraph t;
  Quantizer q{t};
  const ValueId zero = q.code(3), a = q.quantized_input("a", {2, 3}, 0.25f, zero), b = t.input("b", {2, 5});
  t.output(q.coded(t.add("Concat", {a, b}, {{"axis", int64_t(1)}}), 0.25f, zero), "y");
  expect_no_rewrite(t, {"qdq_concat"});
}

TEST(Quantized, JoinedNumbersThatTheProgramSeesStay) {
  TestGraph t;
  Quantizer q{t};
  const ValueId zero = q.code(3), a = q.quantized_input("a", {2, 3}, 0.25f, zero);
  const ValueId joined = t.add("Concat", {a, a}, {{"axis", int64_t(1)}});
  t.output(joined, "seen");
  t.output(q.coded(joined, 0.25f, zero), "y");
  expect_no_rewrite(t, {"qdq_concat"});
}

void parted(TestGraph& t) {
  Quantizer q{t};
  const ValueId x = q.quantized_input("x", {2, 6}, 0.25f, q.code(3));
  const auto parts =
      t.add_multi({.type = "Split", .inputs = {x, t.ints({2, 4})}, .attributes = {{"axis", int64_t(1)}}, .outputs = 2});
  t.output(parts[0], "y");
  t.output(parts[1], "z");
}
const RuleExample example_of_parted("quantized_parted", {"qdq_split"}, parted, R"(graph(x: float32[2,6]) {
  QuantizeLinear#1: uint8[2,6] = QuantizeLinear(x, c#1, z#1)
  Split#1: uint8[2,2], Split#2: uint8[2,4] = Split(QuantizeLinear#1, i#1) {axis=1}
  y: float32[2,2] = DequantizeLinear(Split#1, c#2, z#1)
  z: float32[2,4] = DequantizeLinear(Split#2, c#2, z#1)
  return y, z
}
)");

TEST(Quantized, PartsOfOtherNumbersStay) {
  const auto unchanged = [](auto&& numbers) {
    TestGraph t;
    Quantizer q{t};
    const auto parts = t.add_multi({.type = "Split",
                                    .inputs = {numbers(t, q), t.ints({2, 4})},
                                    .attributes = {{"axis", int64_t(1)}},
                                    .outputs = 2});
    t.output(parts[0], "y");
    t.output(parts[1], "z");
    expect_no_rewrite(t, {"qdq_split"});
  };
  unchanged([](TestGraph& t, Quantizer&) { return t.input("x", {2, 6}); });
  unchanged([](TestGraph&, Quantizer& q) { return q.weights({2, 6}, 0, {0.5f, 0.25f}); });  // a scale for each row
  unchanged([](TestGraph& t, Quantizer& q) {                                                // constants
    return q.real(t.g.add_constant("w", Quantizer::signed_codes({2, 6})), 0.25f, q.code(3, true));
  });
}

}  // namespace
}  // namespace retort
