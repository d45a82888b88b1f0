#include "bench/turns.h"

#include <gtest/gtest.h>

namespace retort::cli {
namespace {

TEST(Turns, EachGoesFirstEquallyOften) {
  using Order = std::vector<size_t>;
  EXPECT_EQ(turns(0, 2), (Order{0, 1}));
  EXPECT_EQ(turns(1, 2), (Order{1, 0}));
  EXPECT_EQ(turns(2, 2), (Order{0, 1}));
  EXPECT_EQ(turns(1, 1), (Order{0}));
}

}  // namespace
}  // namespace retort::cli
