// Tests which ranges of steps are worth running in branches.
#include "run/fork.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace retort {
namespace {

/// Steps of 30 µs each that gain nothing from more threads inside.
std::vector<ForkStep> steps_that_need(const std::vector<std::vector<uint32_t>>& needs) {
  std::vector<ForkStep> steps;
  for (const auto& n : needs)
    steps.push_back({.step = uint32_t(steps.size()) + 100, .alone = 30000, .all = 30000, .needs = n});
  return steps;
}

using Divisions = std::vector<std::vector<uint32_t>>;

Divisions sorted_branches(const Fork& fork) {
  Divisions all = fork.branches;
  std::ranges::sort(all);
  return all;
}

TEST(Forks, TowersInAnyOrder) {
  const Divisions want{{100, 101, 102}, {103, 104, 105}}, mixed{{100, 102, 104}, {101, 103, 105}};
  const auto deep = find_forks(steps_that_need({{}, {0}, {1}, {}, {3}, {4}, {2, 5}}), 2);
  const auto wide = find_forks(steps_that_need({{}, {}, {0}, {1}, {2}, {3}, {4, 5}}), 2);
  ASSERT_EQ(deep.size(), 1u);
  ASSERT_EQ(wide.size(), 1u);
  EXPECT_EQ(sorted_branches(deep[0]), want);
  EXPECT_EQ(sorted_branches(wide[0]), mixed);
  EXPECT_EQ(deep[0].begin, 100u);
  EXPECT_EQ(deep[0].end, 106u);
}

TEST(Forks, BetweenSplitAndJoin) {
  // 0 → 1 → {2, 3 → 4} → 5 → {6, 7} → 8
  const auto forks = find_forks(steps_that_need({{}, {0}, {1}, {1}, {3}, {2, 4}, {5}, {5}, {6, 7}}), 2);
  ASSERT_EQ(forks.size(), 2u);
  EXPECT_EQ(sorted_branches(forks[0]), (Divisions{{102}, {103, 104}}));
  EXPECT_EQ(sorted_branches(forks[1]), (Divisions{{106}, {107}}));
}

TEST(Forks, NoneInAChain) { EXPECT_TRUE(find_forks(steps_that_need({{}, {0}, {1}, {2}, {3}}), 4).empty()); }

TEST(Forks, NoneWithoutGain) {
  std::vector<ForkStep> few = steps_that_need({{}, {}, {0, 1}}), inside = few;
  for (ForkStep& s : few) s.alone = s.all = 5000;
  for (ForkStep& s : inside) s.all = s.alone / 2 + 1500;
  EXPECT_TRUE(find_forks(few, 2).empty());
  EXPECT_TRUE(find_forks(inside, 2).empty());
  EXPECT_EQ(find_forks(steps_that_need({{}, {}, {0, 1}}), 2).size(), 1u);
}

TEST(Forks, AroundStepsThatCannotFork) {
  std::vector<ForkStep> steps = steps_that_need({{}, {}, {0}, {1}, {3}, {2}, {4, 5}});
  steps[2].fits = false;
  const auto forks = find_forks(steps, 2);
  ASSERT_EQ(forks.size(), 2u);
  EXPECT_EQ(sorted_branches(forks[0]), (Divisions{{100}, {101}}));
  EXPECT_EQ(sorted_branches(forks[1]), (Divisions{{103, 104}, {105}}));
}

TEST(Forks, ManySmallBranchesAreAFew) {
  const auto forks = find_forks(steps_that_need(std::vector<std::vector<uint32_t>>(99)), 3);
  ASSERT_EQ(forks.size(), 1u);
  EXPECT_EQ(forks[0].branches.size(), 6u);
  size_t steps = 0;
  for (const auto& b : forks[0].branches) {
    EXPECT_TRUE(std::ranges::is_sorted(b));
    steps += b.size();
  }
  EXPECT_EQ(steps, 99u);
}

}  // namespace
}  // namespace retort
