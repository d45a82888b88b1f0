// Examples of rules (RuleExample of passes_testing.h): what the rules make of each, and that it computes the same.
#include "passes/passes_testing.h"

namespace retort {
namespace {

class RuleExamples : public testing::TestWithParam<const RuleExample*> {};

TEST_P(RuleExamples, AreRewritten) {
  TestGraph t;
  GetParam()->build(t);
  expect_change(t, GetParam()->after, [](Graph& g) {
    PassOptions options;
    PassContext context(options);
    rewrite(g, rules_named(GetParam()->rules), context);
    const auto counts = context.take_counts();
    for (const std::string_view rule : GetParam()->rules)
      EXPECT_TRUE(counts.contains(std::string(rule))) << rule << " did nothing";
  });
}

INSTANTIATE_TEST_SUITE_P(Rules, RuleExamples, testing::ValuesIn(RuleExample::all()),
                         [](const auto& info) { return std::string(info.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RuleExamples);

}  // namespace
}  // namespace retort
