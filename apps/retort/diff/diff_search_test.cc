#include "diff/diff_search.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace retort::cli {
namespace {

/// n values, each computed from the one before.
ValueGraph chain(size_t n) {
  ValueGraph g{std::vector<std::vector<size_t>>(n)};
  for (size_t i = 1; i < n; ++i) g.made_from[i] = {i - 1};
  return g;
}

TEST(DiffSearch, FindsEveryPlaceOfAChainInFewLooks) {
  const ValueGraph g = chain(300);
  for (size_t wrong = 0; wrong < 300; ++wrong) {
    size_t most = 0;
    const auto result = DiffSearch::run(g, 299, 4, [&](const std::vector<size_t>& shown) {
      most = std::max(most, shown.size());
      std::set<size_t> bad;
      for (const size_t v : shown) {
        if (v >= wrong) bad.insert(v);
      }
      return bad;
    });
    EXPECT_EQ(result.value, wrong);
    EXPECT_LE(result.looks, 7u);
    EXPECT_LE(most, 5u);
    EXPECT_TRUE(result.hidden.empty());
    EXPECT_EQ(result.agreeing, wrong ? std::vector<size_t>{wrong - 1} : std::vector<size_t>{});
  }
}

TEST(DiffSearch, FollowsTheBranchThatDiffers) {
  // 0 -> 1 -> 2 -> 3 and 0 -> 4 -> 5 -> 6; 7 is computed from 3 and 6. Only 5 and its successors differ.
  ValueGraph g{{{}, {0}, {1}, {2}, {0}, {4}, {5}, {3, 6}}};
  const auto result = DiffSearch::run(g, 7, 2, [](const std::vector<size_t>& shown) {
    std::set<size_t> bad;
    for (const size_t v : shown) {
      if (v >= 5) bad.insert(v);
    }
    return bad;
  });
  EXPECT_EQ(result.value, 5u);
  EXPECT_EQ(result.agreeing, std::vector<size_t>{4});
}

TEST(DiffSearch, NamesFusedNodesIfInspectionHidesTheDifference) {
  // The engine is wrong if it fuses 5, 6 and 7, which it does as long as neither 5 nor 6 is shown.
  const auto result = DiffSearch::run(chain(20), 19, 4, [](const std::vector<size_t>& shown) {
    std::set<size_t> bad;
    for (const size_t v : shown) {
      if (v == 5 || v == 6) return std::set<size_t>();
    }
    for (const size_t v : shown) {
      if (v >= 7) bad.insert(v);
    }
    return bad;
  });
  EXPECT_EQ(result.value, 7u);
  EXPECT_EQ(result.hidden, (std::vector<size_t>{6, 5}));
  EXPECT_EQ(result.agreeing, std::vector<size_t>{4});
}

}  // namespace
}  // namespace retort::cli
