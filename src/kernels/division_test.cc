#include "kernels/division.h"

#include <gtest/gtest.h>

namespace retort::kernels {
namespace {

size_t blocks(size_t units, size_t cuts, size_t least, size_t most) {
  return ceil_div(units, even_block(units, cuts, least, most));
}

// The units of the longest part of the tasks.
size_t longest_part(size_t units, size_t size, size_t workers) {
  return std::min(ceil_div(ceil_div(units, size), workers) * size, units);
}

TEST(Division, TwoWorkersFinishTogether) {
  for (size_t units = 2; units <= 300; ++units) {
    const size_t size = even_block(units, 1, 1, 16);
    EXPECT_LE(ceil_div(units, size), 16u) << units;
    EXPECT_LE(longest_part(units, size, 2), ceil_div(units, size_t(2)) + units / 16) << units;
  }
}

TEST(Division, KeepsBounds) {
  EXPECT_EQ(blocks(196, 1, 1, 1), 1u);
  EXPECT_EQ(blocks(784, 1, 4, 4), 4u);
  EXPECT_EQ(blocks(3, 1, 1, 16), 3u);  // no more blocks than units
  EXPECT_EQ(blocks(12544, 1, 53, 53), 53u);
  EXPECT_EQ(even_block(0, 1, 1, 16), 1u);
  EXPECT_EQ(even_block(5, 1, 9, 9), 1u);
}

TEST(Division, AvoidsOddNumbers) {
  EXPECT_EQ(blocks(196, 1, 2, 4), 4u);  // not three blocks of 66
  EXPECT_EQ(blocks(6, 1, 1, 16), 6u);   // not three of two
  EXPECT_EQ(blocks(16, 1, 1, 16), 8u);  // more would not help eight workers
  EXPECT_EQ(blocks(16, 8, 1, 16), 1u);  // other cuts have made enough tasks
  EXPECT_EQ(blocks(7, 2, 1, 16), 7u);   // 14 tasks
}

}  // namespace
}  // namespace retort::kernels
