// The order in which rules are tried. Rules of one root compete, so their order decides how a node is rewritten.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "passes/pass.h"

namespace retort {
namespace {

std::vector<std::string_view> names_of(std::span<const Rule* const> rules, std::string_view root = {}) {
  std::vector<std::string_view> names;
  for (const Rule* rule : rules) {
    if (root.empty() || rule->root == root) names.push_back(rule->name);
  }
  return names;
}

using Names = std::vector<std::string_view>;

TEST(RuleOrder, RulesComeAfterThoseThatTheyName) {
  const Rule a{.name = "a", .after = {"c"}}, b{.name = "b"}, c{.name = "c", .after = {"d", "not in this stage"}},
      d{.name = "d"};
  const Rule* const rules[] = {&a, &b, &c, &d};
  EXPECT_EQ(names_of(in_order(rules)), (Names{"d", "c", "a", "b"}));
}

TEST(RuleOrder, CirclesAreErrors) {
  const Rule a{.name = "a", .after = {"b"}}, b{.name = "b", .after = {"a"}};
  const Rule* const rules[] = {&a, &b};
  EXPECT_THROW(in_order(rules), Error);
}

// The stage tries these rules of one root in this order. Others may stand between them.
void expect_order(RuleStage stage, std::string_view root, const Names& wanted) {
  Names found = names_of(rules_of(stage), root);
  std::erase_if(found, [&](auto name) { return std::find(wanted.begin(), wanted.end(), name) == wanted.end(); });
  EXPECT_EQ(found, wanted);
}

TEST(RuleOrder, OrderOfCompetingRules) {
  expect_order(RuleStage::cleanup, "Cast", {"noop_cast", "cast_chain"});
  expect_order(RuleStage::cleanup, "Reshape", {"constant_reshape", "reshape_chain", "noop_reshape"});
  expect_order(RuleStage::cleanup, "Transpose", {"transpose_chain", "noop_transpose", "transpose_unit"});
  expect_order(RuleStage::sink_transposes, "Reshape",
               {"sink_transpose_reshape", "unfold_linear", "reshape_chain", "noop_reshape"});
  expect_order(RuleStage::sink_transposes, "Transpose", {"transpose_chain", "noop_transpose"});
  expect_order(RuleStage::epilogues, "Add", {"linear_bias", "epilogue_residual"});
}

// Whether the rules have a stage in common.
bool meet(const Rule& a, const Rule& b) {
  return std::any_of(a.stages.begin(), a.stages.end(), [&](RuleStage s) {
    return s != RuleStage::none && std::find(b.stages.begin(), b.stages.end(), s) != b.stages.end();
  });
}

TEST(RuleOrder, EveryRuleHasAStageAndAUniqueName) {
  const std::vector<const Rule*> all = all_rules();
  std::set<std::string_view> names;
  for (const Rule* rule : all) {
    EXPECT_TRUE(names.insert(rule->name).second) << "two rules are called " << rule->name;
    EXPECT_NE(rule->stages[0], RuleStage::none) << rule->name << " is in no stage: give it `stages`";
    for (const std::string_view other : rule->after) {
      const bool found = std::any_of(all.begin(), all.end(),
                                     [&](const Rule* r) { return r->name == other && r != rule && meet(*r, *rule); });
      EXPECT_TRUE(other.empty() || found)
          << rule->name << " comes after " << other << ", which is in none of its stages";
    }
  }
}

}  // namespace
}  // namespace retort
