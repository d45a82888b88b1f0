// Tests which nodes with constant inputs are computed before the model runs.
#include <gtest/gtest.h>

#include <atomic>

#include "passes/passes.h"
#include "passes/passes_testing.h"

namespace retort {
namespace {

size_t count(const Graph& g, std::string_view type) {
  return size_t(std::ranges::count_if(g.order(), [&](NodeId id) { return g.node(id).is(type); }));
}

/// Builds y = x + -w, where w has 16 numbers, and counts the Neg nodes that remain.
size_t negations_left(FoldLimits limits) {
  TestGraph t;
  t.output(t.add("Add", {t.input("x", {16}), t.add("Neg", {t.weight("w", {16})})}), "y");
  optimize(t.g, {.level = 1, .folding = limits});
  return count(t.g, "Neg");
}

TEST(ConstantFolding, KeepsToTheBytesOfResults) {
  EXPECT_EQ(negations_left({}), 0u);
  EXPECT_EQ(negations_left({.most_bytes = 64}), 0u);
  EXPECT_EQ(negations_left({.most_bytes = 63}), 1u);
  EXPECT_EQ(negations_left({.most_bytes = 0}), 0u);
}

// Kernels return early then, so a result may lack elements.
TEST(ConstantFolding, EndsWhenLoadingIsCancelled) {
  const std::atomic<bool> cancelled{true};
  TestGraph t;
  t.output(t.add("Add", {t.input("x", {16}), t.add("Neg", {t.weight("w", {16})})}), "y");
  PassOptions options{.level = 1, .parallel = Parallel(nullptr, &cancelled)};
  try {
    optimize(t.g, options);
    FAIL() << "optimised";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::model_load_canceled);
  }
  PassContext context(options);
  EXPECT_THROW(pass_constant_folding.run(t.g, context), Error);
  EXPECT_EQ(count(t.g, "Neg"), 1u);
}

TEST(ConstantFolding, LimitsResultsWhoseExtentsAreInTheirContents) {
  for (const size_t most : {79u, 80u}) {
    TestGraph t;
    const ValueId where = t.add("NonZero", {t.floats({10}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1})});
    t.output(t.add("Add", {t.input("x", {1, 10}, DType::i64), where}), "y");
    optimize(t.g, {.level = 1, .folding = {.most_bytes = most}});
    EXPECT_EQ(count(t.g, "NonZero"), size_t(most < 80)) << most;
  }
}

TEST(ConstantFolding, QuantizesConstantsUnlessSwitchedOff) {
  for (const bool quantize : {true, false}) {
    TestGraph t;
    const ValueId q = t.add("QuantizeLinear", {t.weight("w", {16}), t.scalar(0.1f)});
    t.output(t.add("DequantizeLinear", {q, t.scalar(0.1f)}), "y");
    optimize(t.g, {.level = 1, .folding = {.quantize = quantize}});
    EXPECT_EQ(count(t.g, "QuantizeLinear"), size_t(!quantize));
    EXPECT_EQ(count(t.g, "DequantizeLinear"), 1u);
  }
}

// The exporter of PyTorch writes a weight that is used twice as an Identity of it, and turns it at each use.
TEST(ConstantFolding, GivesEqualNodesOneConstant) {
  TestGraph t;
  const ValueId x = t.input("x", {4, 4}), w = t.weight("w", {4, 4});
  const auto product = [&](ValueId weight, std::vector<int64_t> perm) {
    return t.add("MatMul", {x, t.add("Transpose", {weight}, {{"perm", std::move(perm)}})});
  };
  const ValueId a = product(w, {1, 0}), b = product(t.add("Identity", {w}), {1, 0}), c = product(w, {0, 1});
  t.output(t.add("Concat", {a, b, c}, {{"axis", int64_t{0}}}), "y");
  optimize(t.g, {.level = 1});
  EXPECT_EQ(count(t.g, "Transpose") + count(t.g, "Identity"), 0u);
  EXPECT_EQ(count(t.g, "MatMul"), 2u);  // of the turned weight, and of the weight itself
}

// The result of the first node of a chain is forgotten before the chain is met again.
TEST(ConstantFolding, GivesEqualChainsOneConstant) {
  TestGraph t;
  const ValueId x = t.input("x", {4, 4}), w = t.weight("w", {2, 8});
  const ValueId shape = t.ints({4, 4});
  std::vector<ValueId> products;
  for (int i = 0; i < 3; ++i) {
    const ValueId turned = t.add("Transpose", {t.add("Neg", {w})}, {{"perm", std::vector<int64_t>{1, 0}}});
    products.push_back(t.add("MatMul", {x, t.add("Reshape", {turned, shape})}));
  }
  t.output(t.add("Concat", products, {{"axis", int64_t{0}}}), "y");
  optimize(t.g, {.level = 1});
  EXPECT_EQ(count(t.g, "Neg") + count(t.g, "Transpose") + count(t.g, "Reshape"), 0u);
  EXPECT_EQ(count(t.g, "MatMul"), 1u);
}

TEST(ConstantFolding, KeepsOutputsOfTheGraphApart) {
  TestGraph t;
  const ValueId w = t.weight("w", {4, 4});
  t.output(t.add("Identity", {w}), "a");
  t.output(t.add("Neg", {w}), "b");
  t.output(t.add("Neg", {w}), "c");
  optimize(t.g, {.level = 1});
  ASSERT_EQ(t.g.outputs.size(), 3u);
  for (const ValueId v : t.g.outputs) EXPECT_TRUE(t.g.constant(v));
  EXPECT_NE(t.g.outputs[1], t.g.outputs[2]);
}

// The first of two equal nodes may have fewer outputs than the second.
TEST(ConstantFolding, TellsNodesOfOtherOutputsApart) {
  TestGraph t;
  const ValueId w = t.floats({4}, {2, 3, 1, 3});
  const ValueId one = t.add_multi({.type = "Unique", .inputs = {w}, .outputs = 1})[0];
  const ValueId counts = t.add_multi({.type = "Unique", .inputs = {w}, .outputs = 4})[3];
  t.output(t.add("Add", {t.input("x", {1}), one}), "y");
  t.output(t.add("Add", {t.input("i", {1}, DType::i64), counts}), "z");
  optimize(t.g, {.level = 1});
  EXPECT_EQ(count(t.g, "Unique"), 0u);
}

}  // namespace
}  // namespace retort
