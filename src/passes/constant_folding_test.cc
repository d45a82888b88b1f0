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

}  // namespace
}  // namespace retort
