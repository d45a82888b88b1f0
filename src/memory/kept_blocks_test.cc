#include "memory/kept_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "memory/access.h"
#include "memory/spare.h"
#include "tensor/host_block.h"

namespace retort {
namespace {

constexpr size_t kMiB = size_t(1) << 20;

/// The address of a result of this size, whose owner releases it after the run.
void* run_once(KeptBlocks& blocks, size_t bytes) {
  std::shared_ptr<void> result;
  {
    ResultMemory run(blocks);
    result = run.allocate(bytes);
  }
  std::memset(result.get(), 1, bytes);
  return result.get();
}

class KeptBlocksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kAccessIsChecked) GTEST_SKIP() << "AddressSanitizer checks each block; none is kept";
  }
  KeptBlocks blocks_;
};

TEST_F(KeptBlocksTest, the_next_result_gets_the_memory) {
  void* const first = run_once(blocks_, 4 * kMiB);
  EXPECT_EQ(blocks_.bytes(), 4 * kMiB);
  EXPECT_EQ(run_once(blocks_, 4 * kMiB), first);
  EXPECT_EQ(run_once(blocks_, 3 * kMiB), first) << "a smaller result";
}

// A part of a huge page would lose it, and small pages cost more to give and to write again than they are worth.
TEST(HostBlock, is_marked_for_whole_huge_pages) {
  if (kAccessIsChecked) GTEST_SKIP() << "AddressSanitizer checks each block; none is a mapping";
  EXPECT_EQ(huge_bytes(kMiB - 1), 0u);
  EXPECT_EQ(huge_bytes(kMiB), 2 * kMiB);
  EXPECT_EQ(huge_bytes(2 * kMiB), 2 * kMiB);
  EXPECT_EQ(huge_bytes(3 * kMiB - 1), 2 * kMiB);
  EXPECT_EQ(huge_bytes(3 * kMiB), 4 * kMiB);
}

TEST_F(KeptBlocksTest, small_results_are_left_to_malloc) {
  run_once(blocks_, KeptBlocks::kLeast - 1);
  EXPECT_EQ(blocks_.bytes(), 0u);
}

TEST_F(KeptBlocksTest, a_result_that_is_held_is_not_used_again) {
  ResultMemory run(blocks_);
  const auto held = run.allocate(4 * kMiB), next = run.allocate(4 * kMiB);
  EXPECT_NE(held, next);
  EXPECT_EQ(blocks_.bytes(), 0u);
}

TEST_F(KeptBlocksTest, keeps_no_more_than_runs_needed_at_once) {
  std::vector<std::shared_ptr<void>> held;
  for (int i = 0; i < 10; ++i) {
    ResultMemory run(blocks_);
    held.push_back(run.allocate(4 * kMiB));
  }
  held.clear();
  EXPECT_EQ(blocks_.bytes(), 4 * kMiB);
}

TEST_F(KeptBlocksTest, keeps_the_results_of_runs_at_the_same_time) {
  {
    ResultMemory one(blocks_), other(blocks_);
    const auto a = one.allocate(4 * kMiB), b = other.allocate(4 * kMiB);
  }
  EXPECT_EQ(blocks_.bytes(), 8 * kMiB);
}

// Otherwise there would be more memory than without kept blocks.
TEST_F(KeptBlocksTest, a_block_that_does_not_fit_is_freed_first) {
  run_once(blocks_, 4 * kMiB);
  ResultMemory run(blocks_);
  const auto larger = run.allocate(16 * kMiB);
  EXPECT_EQ(blocks_.bytes(), 0u);
}

TEST_F(KeptBlocksTest, a_much_larger_block_is_not_wasted) {
  void* const large = run_once(blocks_, 64 * kMiB);
  EXPECT_NE(run_once(blocks_, 4 * kMiB), large);
}

TEST_F(KeptBlocksTest, results_that_grow_get_room) {
  void* const first = run_once(blocks_, 8 * kMiB);
  void* const grown = run_once(blocks_, 9 * kMiB);
  EXPECT_EQ(run_once(blocks_, 10 * kMiB), grown);
  (void)first;
}

TEST_F(KeptBlocksTest, unused_blocks_are_freed) {
  run_once(blocks_, 64 * kMiB);
  for (uint32_t i = 0; i < 2 * kRunsPerTrim; ++i) run_once(blocks_, 4096);
  EXPECT_EQ(blocks_.bytes(), 0u);
}

TEST_F(KeptBlocksTest, used_blocks_stay) {
  void* const first = run_once(blocks_, 4 * kMiB);
  for (uint32_t i = 0; i < 4 * kRunsPerTrim; ++i) EXPECT_EQ(run_once(blocks_, 4 * kMiB), first);
}

TEST_F(KeptBlocksTest, shrinking_frees_everything) {
  run_once(blocks_, 4 * kMiB);
  std::shared_ptr<void> result;
  {
    ResultMemory run(blocks_, true);
    result = run.allocate(4 * kMiB);
  }
  EXPECT_EQ(blocks_.bytes(), 0u);
  result = nullptr;
  EXPECT_EQ(blocks_.bytes(), 0u) << "released after the run";
}

TEST(KeptBlocks, keeps_nothing_if_it_must_not) {
  KeptBlocks blocks(false);
  run_once(blocks, 4 * kMiB);
  EXPECT_EQ(blocks.bytes(), 0u);
}

TEST(KeptBlocks, results_outlive_the_session) {
  std::shared_ptr<void> result;
  {
    KeptBlocks blocks;
    ResultMemory run(blocks);
    result = run.allocate(4 * kMiB);
  }
  std::memset(result.get(), 1, 4 * kMiB);
}

TEST(KeptBlocks, threads_release_what_others_made) {
  KeptBlocks blocks;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        std::shared_ptr<void> result;
        {
          ResultMemory run(blocks);
          result = run.allocate((2 + size_t(i) % 3) * kMiB);
        }
        static_cast<char*>(result.get())[i] = 1;
        std::thread([kept = std::move(result)]() mutable { kept = nullptr; }).join();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_LE(blocks.bytes(), 4 * 5 * kMiB);
}

}  // namespace
}  // namespace retort
