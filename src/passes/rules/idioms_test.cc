// Tests activations and normalisations that are written as a sequence of operators.
#include <cmath>

#include "passes/passes_testing.h"

namespace retort {
namespace {

void gelu_in_the_order_of_bert(TestGraph& t) {
  const ValueId x = t.input("x", {3, 5});
  const ValueId erf = t.add("Erf", {t.add("Div", {x, t.scalar(std::sqrt(2.0f))})});
  const ValueId product = t.add("Mul", {x, t.add("Add", {erf, t.scalar(1)})});
  t.output(t.add("Mul", {product, t.scalar(0.5f)}), "y");
}
const RuleExample bert("gelu_in_the_order_of_bert", {"gelu"}, gelu_in_the_order_of_bert,
                       R"(graph(x: float32[3,5]) {
  y: float32[3,5] = Gelu(x)
  return y
}
)");

void gelu_in_the_order_of_vit(TestGraph& t) {
  const ValueId x = t.input("x", {3, 5});
  const ValueId erf = t.add("Erf", {t.add("Mul", {x, t.scalar(std::sqrt(0.5f))})});
  const ValueId half = t.add("Mul", {t.scalar(0.5f), t.add("Add", {t.scalar(1), erf})});
  t.output(t.add("Mul", {x, half}), "y");
}
const RuleExample vit("gelu_in_the_order_of_vit", {"gelu"}, gelu_in_the_order_of_vit,
                      R"(graph(x: float32[3,5]) {
  y: float32[3,5] = Gelu(x)
  return y
}
)");

void gelu_with_tanh_of_gpt2(TestGraph& t) {
  const ValueId x = t.input("x", {3, 5});
  const ValueId cube = t.add("Mul", {t.add("Pow", {x, t.scalar(3)}), t.scalar(0.044715f)});
  const ValueId inner = t.add("Mul", {t.add("Add", {x, cube}), t.scalar(0.7978845608f)});
  const ValueId gate = t.add("Add", {t.add("Tanh", {inner}), t.scalar(1)});
  t.output(t.add("Mul", {t.add("Mul", {x, t.scalar(0.5f)}), gate}), "y");
}
const RuleExample gpt2("gelu_with_tanh_of_gpt2", {"gelu"}, gelu_with_tanh_of_gpt2,
                       R"(graph(x: float32[3,5]) {
  y: float32[3,5] = Gelu(x) {approximate="tanh"}
  return y
}
)");

ValueId erf_gelu(TestGraph& t, float divisor, float half = 0.5f) {
  const ValueId x = t.input("x", {3, 5});
  const ValueId erf = t.add("Erf", {t.add("Div", {x, t.scalar(divisor)})});
  return t.add("Mul", {t.add("Mul", {x, t.add("Add", {erf, t.scalar(1)})}), t.scalar(half)});
}

TEST(Gelu, OtherFactorsAreNone) {
  for (const auto& [divisor, half] :
       {std::pair{2.0f, 0.5f}, {1.4142f, 0.5f}, {1.41422f, 0.5f}, {1.4142135f, 0.5001f}}) {
    TestGraph t;
    t.output(erf_gelu(t, divisor, half), "y");
    expect_no_rewrite(t, {"gelu"});
  }
}

TEST(Gelu, RoundedToBinary16ItIsOne) {
  TestGraph t;
  t.output(erf_gelu(t, 1.4140625f), "y");
  expect_rewrite(t, {"gelu"}, R"(graph(x: float32[3,5]) {
  y: float32[3,5] = Gelu(x)
  return y
}
)");
}

TEST(Gelu, OtherTanhFactorsAreNone) {
  for (const auto& [scale, cubed] : {std::pair{0.7979f, 0.044715f}, {0.7978845608f, 0.0447f}}) {
    TestGraph t;
    const ValueId x = t.input("x", {3, 5});
    const ValueId cube = t.add("Mul", {t.add("Pow", {x, t.scalar(3)}), t.scalar(cubed)});
    const ValueId inner = t.add("Mul", {t.add("Add", {x, cube}), t.scalar(scale)});
    const ValueId gate = t.add("Add", {t.add("Tanh", {inner}), t.scalar(1)});
    t.output(t.add("Mul", {t.add("Mul", {x, t.scalar(0.5f)}), gate}), "y");
    expect_no_rewrite(t, {"gelu"});
  }
}

TEST(Swish, SigmoidTimesItsInput) {
  TestGraph t;
  const ValueId x = t.input("x", {7});
  t.output(t.add("Mul", {x, t.add("Sigmoid", {x})}), "y");
  expect_rewrite(t, {"silu"}, R"(graph(x: float32[7]) {
  y: float32[7] = Swish(x)
  return y
}
)");
}

TEST(Swish, SigmoidOfAnotherValueStays) {
  TestGraph t;
  const ValueId x = t.input("x", {7}), z = t.input("z", {7});
  t.output(t.add("Mul", {x, t.add("Sigmoid", {z})}), "y");
  expect_no_rewrite(t, {"silu"});
}

TEST(HardSwish, ClipOfShiftedInput) {
  TestGraph t;
  const ValueId x = t.input("x", {7});
  const auto clip = [&] { return t.add("Clip", {t.add("Add", {x, t.scalar(3)}), t.scalar(0), t.scalar(6)}); };
  t.output(t.add("Div", {t.add("Mul", {x, clip()}), t.scalar(6)}), "a");
  t.output(t.add("Mul", {x, t.add("Div", {clip(), t.scalar(6)})}), "b");
  t.output(t.add("Mul", {x, t.add("HardSigmoid", {x}, {{"alpha", 1.0f / 6}})}), "c");
  expect_rewrite(t, {"hard_swish", "hard_swish_inner", "hard_swish_outer"}, R"(graph(x: float32[7]) {
  a: float32[7] = HardSwish(x)
  b: float32[7] = HardSwish(x)
  c: float32[7] = HardSwish(x)
  return a, b, c
}
)");
}

TEST(HardSwish, OtherFactorsAreNone) {
  TestGraph t;
  const ValueId x = t.input("x", {7});
  const auto clip = [&] { return t.add("Clip", {t.add("Add", {x, t.scalar(3)}), t.scalar(0), t.scalar(6)}); };
  t.output(t.add("Mul", {t.add("Mul", {x, clip()}), t.scalar(0.1667f)}), "a");
  t.output(t.add("Mul", {x, t.add("Mul", {clip(), t.scalar(0.16666f)})}), "b");
  t.output(t.add("Mul", {x, t.add("Div", {clip(), t.scalar(6.0001f)})}), "c");
  t.output(t.add("Mul", {x, t.add("HardSigmoid", {x}, {{"alpha", 0.1667f}})}), "d");
  expect_no_rewrite(t, {"hard_swish", "hard_swish_inner", "hard_swish_outer", "hard_swish_outer_mul"});
}

TEST(LayerNorm, WrittenOut) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6});
  const ValueId off = t.add("Sub", {x, t.add("ReduceMean", {x, t.ints({-1})})});
  const ValueId variance = t.add("ReduceMean", {t.add("Pow", {off, t.scalar(2)}), t.ints({-1})});
  const ValueId root = t.add("Sqrt", {t.add("Add", {variance, t.scalar(1e-5f)})});
  const ValueId scaled = t.add("Mul", {t.add("Div", {off, root}), t.weight("g", {6})});
  t.output(t.add("Add", {scaled, t.weight("b", {6})}), "y");
  expect_rewrite(t, {"layer_norm", "layer_norm_gamma", "layer_norm_beta"}, R"(graph(x: float32[n,6]) {
  y: float32[n,6] = LayerNormalization(x, gamma#1, beta#1) {epsilon=1e-05}
  return y
}
)");
}

void norm_of_tensorflow(TestGraph& t) {
  const ValueId x = t.input("x", {t.symbol("n"), 3, 6});
  const ValueId mean = t.add("GlobalAveragePool", {x}), off = t.add("Sub", {x, mean});
  const ValueId variance = t.add("ReduceMean", {t.add("Mul", {off, off}), t.ints({-1})});
  const ValueId root = t.add("Sqrt", {t.add("Add", {variance, t.scalar(1e-5f)})});
  const ValueId gain = t.add("Mul", {t.add("Reciprocal", {root}), t.weight("g", {6})});
  const ValueId moved = t.add("Sub", {t.weight("b", {6}), t.add("Mul", {mean, gain})});
  t.output(t.add("Add", {t.add("Mul", {x, gain}), moved}), "y");
}
const RuleExample example_of_tensorflow("layer_norm_of_tensorflow", {"layer_norm_gain"}, norm_of_tensorflow,
                                        R"(graph(x: float32[n,3,6]) {
  y: float32[n,3,6] = LayerNormalization(x, gamma#1, beta#1) {epsilon=1e-05}
  return y
}
)");

TEST(LayerNorm, GainsOfOtherValuesStay) {
  for (const int wrong : {0, 1, 2}) {
    TestGraph t;
    const ValueId x = t.input("x", {2, 3, 6}), z = t.input("z", {2, 3, 6});
    const ValueId mean = t.add("ReduceMean", {x, t.ints({wrong == 0 ? 1 : -1})}), off = t.add("Sub", {x, mean});
    const ValueId variance = t.add("ReduceMean", {t.add("Mul", {off, off}), t.ints({-1})});
    const ValueId root = t.add("Sqrt", {t.add("Add", {variance, t.scalar(1e-5f)})});
    const ValueId gain = t.add("Mul", {t.add("Reciprocal", {root}), t.weight("g", {6})});
    const ValueId moved = t.add("Sub", {wrong == 1 ? z : t.weight("b", {6}), t.add("Mul", {mean, gain})});
    t.output(t.add("Add", {t.add("Mul", {wrong == 2 ? z : x, gain}), moved}), "y");
    expect_no_rewrite(t, {"layer_norm_gain"});
  }
}

TEST(RmsNorm, WrittenOutAsInLlama) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6});
  const ValueId mean = t.add("ReduceMean", {t.add("Pow", {x, t.scalar(2)}), t.ints({-1})});
  const ValueId root = t.add("Sqrt", {t.add("Add", {mean, t.scalar(1e-5f)})});
  const ValueId unit = t.add("Mul", {x, t.add("Div", {t.scalar(1), root})});
  t.output(t.add("Mul", {t.weight("g", {6}), unit}), "y");
  expect_rewrite(t, {"rms_norm_mul", "rms_norm_gamma"}, R"(graph(x: float32[n,6]) {
  y: float32[n,6] = RMSNormalization(x, gamma#1) {epsilon=1e-05}
  return y
}
)");
}

TEST(SkipNorm, TheSumStaysAvailable) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 3, 4}), z = t.input("z", {2, 3, 4});
  const ValueId sum = t.add("Add", {x, z});
  const ValueId norm = t.add("LayerNormalization", {sum, t.weight("g", {4}), t.weight("b", {4})});
  t.output(t.add("Add", {sum, norm}), "y");
  expect_rewrite(t, {"skip_layer_norm"}, R"(graph(x: float32[2,3,4], z: float32[2,3,4]) {
  SkipLayerNormalization#1: float32[2,3,4], SkipLayerNormalization#2: float32[2,3,1], SkipLayerNormalization#3: float32[2,3,1], SkipLayerNormalization#4: float32[2,3,4] = com.microsoft.SkipLayerNormalization(x, z, g, b) {epsilon=1e-05}
  y: float32[2,3,4] = Add(SkipLayerNormalization#4, SkipLayerNormalization#1)
  return y
}
)");
}

}  // namespace
}  // namespace retort
