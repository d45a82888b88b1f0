// Tests that scratch grows on demand and is freed when less than half of it was needed.
#include "run/scratch.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "memory/host.h"
#include "memory/spare.h"

namespace retort {
namespace {

const auto make = [](size_t bytes) { return allocate_block(bytes); };

TEST(Scratch, Grows) {
  Scratch scratch;
  EXPECT_EQ(scratch.data(), nullptr);
  scratch.grow(100, make);
  EXPECT_NE(scratch.data(), nullptr);
  EXPECT_EQ(scratch.bytes(), 100u);
}

TEST(Scratch, IsFreedBeforeMoreIsAllocated) {
  Scratch scratch;
  std::weak_ptr<void> first;
  scratch.grow(100, [&](size_t bytes) {
    auto memory = allocate_block(bytes);
    first = memory;
    return memory;
  });
  EXPECT_FALSE(first.expired());
  EXPECT_THROW(scratch.grow(200,
                            [&](size_t) -> std::shared_ptr<void> {
                              EXPECT_TRUE(first.expired());
                              fail(ErrorCode::fail, "no memory");
                            }),
               Error);
  EXPECT_EQ(scratch.bytes(), 0u);
  EXPECT_EQ(scratch.data(), nullptr);
}

TEST(Scratch, IsFreedIfLessThanHalfWasNeeded) {
  Scratch scratch;
  scratch.grow(4 * kWorthTrimming, make);
  EXPECT_FALSE(scratch.trim(2 * kWorthTrimming));
  EXPECT_TRUE(scratch.trim(2 * kWorthTrimming - 1));
  EXPECT_EQ(scratch.bytes(), 0u);
  scratch.grow(kWorthTrimming - 1, make);
  EXPECT_FALSE(scratch.trim(0));
}

TEST(Scratch, TheMostCountsSinceTheLastTrim) {
  ScratchNeed need;
  need.set(300);
  need.set(100);
  EXPECT_EQ(need.forget_most(), 300u);
  EXPECT_EQ(need.forget_most(), 100u);
}

}  // namespace
}  // namespace retort
