// How a model becomes a plan without devices. With devices: tests of sessions.
#include "session/plan_maker.h"

#include <algorithm>

#include "session/session_parts_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

using PlanMakerTest = PartsTest;

TEST_F(PlanMakerTest, NamesOfPassesAreSeparatedByEitherSign) {
  options.config["optimization.disable_specified_optimizers"] = "A;B,C,;";
  EXPECT_EQ(plans.lower_options(nullptr).disabled, (std::vector<std::string>{"A", "B", "C"}));
}

TEST_F(PlanMakerTest, QuantisedModelsCanBeComputedInFloats) {
  EXPECT_TRUE(plans.lower_options(nullptr).disabled.empty());
  options.config["session.disable_quant_qdq"] = "1";
  EXPECT_EQ(plans.lower_options(nullptr).disabled, (std::vector<std::string>{"quantized"}));
}

// As int8 codes, they would saturate, which those of the official library do not.
TEST_F(PlanMakerTest, UnsignedFiltersStayWhereSumsSaturate) {
  const auto is_off = [&] { return std::ranges::count(plans.lower_options(nullptr).disabled, "qdq_narrow") == 1; };
  EXPECT_FALSE(is_off());
  options.config["session.quantized_sums"] = "saturating";
  EXPECT_TRUE(is_off());
  options.config["session.x64quantprecision"] = "1";  // exact sums
  EXPECT_FALSE(is_off());
}

TEST_F(PlanMakerTest, OnlyLevelFourRoundsProducts) {
  EXPECT_TRUE(plans.lower_options(nullptr).round_products);
  for (const char* level : {"0", "1", "2", "3", "4"}) {
    options.config["session.qdq_matmulnbits_accuracy_level"] = level;
    EXPECT_EQ(plans.lower_options(nullptr).round_products, *level == '4') << level;
  }
}

TEST_F(PlanMakerTest, OnlyAProcessorWithBfloat16MultipliesInIt) {
  EXPECT_FALSE(plans.lower_options(nullptr).bf16_products);
  options.config["session.precision"] = "bf16";
  EXPECT_EQ(plans.lower_options(nullptr).bf16_products, multiplies_bf16());
}

TEST_F(PlanMakerTest, LoweringFollowsOptions) {
  options.optimization = OptimizationLevel::basic;
  options.config["session.strict_shape_type_inference"] = "1";
  options.config["session.disable_qdq_constant_folding"] = "1";
  options.config["optimization.constant_folding_max_output_size_in_bytes"] = "12";
  const LowerOptions lower = plans.lower_options(nullptr);
  EXPECT_EQ(lower.level, 1);
  EXPECT_TRUE(lower.strict_shapes);
  EXPECT_FALSE(lower.folding.quantize);
  EXPECT_EQ(lower.disabled, std::vector<std::string>{"qdq_constant"});
  EXPECT_EQ(lower.folding.most_bytes, 12u);
  EXPECT_EQ(lower.parallel.workers(), 1);
}

TEST_F(PlanMakerTest, WithoutDevicesAllIsOnTheHost) {
  SmallModel small(false);
  const PlanMaker::Made made = plans.make(small.model, plans.lower_options(nullptr), nullptr);
  EXPECT_EQ(made.plan->inputs.size(), 2u);
  EXPECT_TRUE(made.plan->input_spaces.empty());
  EXPECT_TRUE(made.spaces.inputs.empty());
  EXPECT_EQ(made.capture, nullptr);
}

TEST_F(PlanMakerTest, LoadingCanBeCancelled) {
  SmallModel small(false);
  const std::atomic<bool> cancel{true};
  try {
    plans.make(small.model, plans.lower_options(&cancel), nullptr);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::model_load_canceled);
  }
}

TEST_F(PlanMakerTest, OnlyTheFirstPlanRecordsParts) {
  std::vector<AssignedPart> parts{{"CPUExecutionProvider", {{"kept", "", "Add", {}}}}};
  SmallModel one(false), two(false);
  plans.make(one.model, plans.lower_options(nullptr), nullptr);
  const FirstPlan first{"", nullptr, parts, {}, {}};
  plans.make(two.model, plans.lower_options(nullptr), &first);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].nodes[0].name, "kept");
}

}  // namespace
}  // namespace retort
