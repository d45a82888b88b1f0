// Tests that a block is divided anew only when requests outgrow it, and is freed when it has become too large.
#include "run/arena_block.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "memory/host.h"
#include "memory/spare.h"

namespace retort {
namespace {

constexpr size_t kNoLimit = SIZE_MAX;

struct Block : testing::Test {
  void fit(const std::vector<ArenaRequest>& requests, size_t limit = kNoLimit) {
    block.fit(requests, limit, [&](size_t bytes) {
      ++allocations;
      if (bytes > available) fail(ErrorCode::fail, "no memory");
      return allocate_block(bytes);
    });
  }
  ArenaBlock block;
  size_t available = SIZE_MAX;
  int allocations = 0;
};

TEST_F(Block, RequestsOfDifferentTimesShareMemory) {
  fit({{1000, 0, 1}, {500, 1, 2}, {1000, 2, 3}});
  EXPECT_EQ(block.at(0), block.at(2));
  EXPECT_NE(block.at(0), block.at(1));
  EXPECT_LT(block.bytes(), 2500u);
}

TEST_F(Block, TellsWhatIsInUse) {
  fit({{1000, 0, 1}, {500, 1, 2}, {64, 0, 9, 1, 4, 5}});
  EXPECT_EQ(block.in_use(0), 1000u);
  EXPECT_EQ(block.in_use(1), 1500u);
  EXPECT_EQ(block.in_use(3), 0u);
  EXPECT_EQ(block.in_use(4), 64u);
}

TEST_F(Block, StaysWhileRequestsFit) {
  fit({{1000, 0, 1}, {500, 0, 2}});
  const std::byte* first = block.at(0);
  fit({{900, 0, 1}, {20, 0, 2}});
  EXPECT_EQ(allocations, 1);
  EXPECT_EQ(block.at(0), first);
}

TEST_F(Block, IsPlannedAnewForOtherLifetimes) {
  fit({{1000, 0, 1}, {1000, 2, 3}});
  EXPECT_EQ(block.at(0), block.at(1));
  fit({{1000, 0, 2}, {1000, 2, 3}});
  EXPECT_NE(block.at(0), block.at(1));
  EXPECT_EQ(allocations, 2);
}

TEST_F(Block, LeavesRoomToGrow) {
  fit({{4000, 0, 1}});
  fit({{4400, 0, 1}});
  EXPECT_EQ(allocations, 2);
  for (size_t bytes = 4400; bytes <= 5400; bytes += 100) fit({{bytes, 0, 1}});
  EXPECT_EQ(allocations, 2);
}

TEST_F(Block, LeavesNoRoomBeyondTheLimit) {
  fit({{4000, 0, 1}}, 4608);
  fit({{4400, 0, 1}}, 4608);
  EXPECT_LE(block.bytes(), 4608u);
}

TEST_F(Block, TriesAgainAfterAFailure) {
  available = 100;
  EXPECT_THROW(fit({{1000, 0, 1}}), Error);
  EXPECT_EQ(block.bytes(), 0u);
  available = SIZE_MAX;
  fit({{1000, 0, 1}});
  EXPECT_GE(block.bytes(), 1000u);
  EXPECT_NE(block.at(0), nullptr);
}

TEST_F(Block, TooLargeAPlanIsNotKept) {
  const size_t half = SIZE_MAX / 2;
  EXPECT_THROW(fit({{half, 0, 1}, {half, 0, 1}, {half, 0, 1}}), Error);
  EXPECT_THROW(fit({{half, 0, 1}, {half, 0, 1}, {half, 0, 1}}), Error);
  EXPECT_EQ(allocations, 0);
}

TEST_F(Block, IsFreedIfNoRunNeededHalfOfIt) {
  const std::vector<ArenaRequest> large{{4 * kWorthTrimming, 0, 1}}, small{{100, 0, 1}};
  fit(large);
  fit(small);
  EXPECT_FALSE(block.trim());  // a run since the last trim needed it
  EXPECT_TRUE(block.trim());
  EXPECT_EQ(block.bytes(), 0u);
  fit(small);
  EXPECT_FALSE(block.trim());
  EXPECT_FALSE(block.trim());
}

TEST_F(Block, SmallOnesAreKept) {
  fit({{kWorthTrimming / 2, 0, 1}});
  fit({{100, 0, 1}});
  EXPECT_FALSE(block.trim());
  EXPECT_FALSE(block.trim());
}

}  // namespace
}  // namespace retort
