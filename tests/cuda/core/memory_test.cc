// Memory of a device between streams, limits, statistics, pinned memory.
#include <cstring>
#include <thread>

#include "host_testing.h"

namespace providers::cuda {
namespace {

constexpr size_t kMiB = size_t(1) << 20;

using MemoryTest = CudaTest;

TEST_F(MemoryTest, NothingIsBytesToo) {
  const Address one = memory().allocate(0, nullptr), other = memory().allocate(0, nullptr);
  EXPECT_NE(one, 0u);
  EXPECT_NE(one, other);
  EXPECT_EQ(one % 256, 0u);
  memory().release(one);
  memory().release(other);
  memory().release(0);
}

TEST_F(MemoryTest, BlocksAreUsedAgainWithoutTheDriver) {
  const Address first = memory().allocate(3 * kMiB, nullptr);
  memory().release(first);
  const int64_t made = memory().statistics().from_driver;
  for (int i = 0; i < 10; ++i) {
    const Address again = memory().allocate(3 * kMiB - size_t(i) * 512, nullptr);
    EXPECT_EQ(again, first);
    memory().release(again);
  }
  EXPECT_EQ(memory().statistics().from_driver, made);
}

TEST_F(MemoryTest, NeighboursJoin) {
  std::vector<Address> pieces;
  for (int i = 0; i < 6; ++i) pieces.push_back(memory().allocate(3 * kMiB, nullptr));
  const int64_t made = memory().statistics().from_driver;
  for (const int i : {1, 3, 5, 0, 2, 4}) memory().release(pieces[size_t(i)]);
  const Address whole = memory().allocate(18 * kMiB, nullptr);
  EXPECT_EQ(memory().statistics().from_driver, made);
  memory().release(whole);
}

TEST_F(MemoryTest, OneStreamNeedNotWait) {
  const CUstream stream = begin_stream(device());
  const Address first = memory().allocate(kMiB, stream);
  write(first, std::vector<float>(1000, 1), stream);
  memory().release(first);
  const Address again = memory().allocate(kMiB, stream);
  EXPECT_EQ(again, first);  // its work comes after that of the first use
  memory().release(again);
  end_stream(device(), stream);
}

// The first stream has work that takes a while. Whatever reads or writes the block afterwards must come after it.
TEST_F(MemoryTest, AnotherStreamComesAfterTheFirstUse) {
  const CUstream one = begin_stream(device()), two = begin_stream(device());
  const size_t count = 4 * kMiB;
  for (int round = 0; round < 5; ++round) {
    const Address block = memory().allocate(count * sizeof(float), one);
    for (int i = 0; i < 20; ++i) check(driver().fill_words(block, 0x3f800000, count, one), "filling");  // 1.0
    memory().release(block);
    const Address again = memory().allocate(count * sizeof(float), two);
    check(driver().fill_words(again, 0x40000000, count, two), "filling");  // 2.0
    EXPECT_EQ(read(again, count, two), std::vector<float>(count, 2));
    check(driver().stream_synchronize(one), "waiting");
    EXPECT_EQ(read(again, 1, two)[0], 2);
    memory().release(again);
  }
  end_stream(device(), one);
  end_stream(device(), two);
}

TEST_F(MemoryTest, MemoryForAnyUseIsIdle) {
  const CUstream stream = begin_stream(device());
  const size_t count = 4 * kMiB;
  const Address block = memory().allocate(count * sizeof(float), stream);
  for (int i = 0; i < 20; ++i) check(driver().fill_words(block, 0x3f800000, count, stream), "filling");
  memory().release(block);
  const Address other = memory().allocate(count * sizeof(float), nullptr);
  EXPECT_TRUE(other != block || driver().stream_query(stream) == 0);
  memory().release(other);
  end_stream(device(), stream);
}

TEST_F(MemoryTest, TheLimitHolds) {
  memory().trim();
  const size_t reserved = memory().statistics().reserved;
  memory().limit(reserved + 5 * kMiB);
  const Address fits = memory().allocate(4 * kMiB, nullptr);
  EXPECT_NE(fits, 0u);
  EXPECT_EQ(memory().allocate(4 * kMiB, nullptr), 0u);
  const Address rest = memory().allocate(kMiB / 2, nullptr);
  EXPECT_NE(rest, 0u);
  EXPECT_LE(memory().statistics().reserved, reserved + 5 * kMiB);
  try {
    const Block block(device(), 64 * kMiB);
    FAIL() << "there is no room";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("no room for 67108864 bytes"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("the limit is"), std::string::npos) << e.what();
  }
  memory().release(fits);
  memory().release(rest);
}

// Idle blocks of other sizes make room before an allocation fails.
TEST_F(MemoryTest, IdleBlocksGiveWay) {
  memory().trim();
  memory().limit(memory().statistics().reserved + 40 * kMiB);
  const CUstream stream = begin_stream(device());
  const Address one = memory().allocate(30 * kMiB, stream);
  check(driver().fill_bytes(one, 1, 30 * kMiB, stream), "filling");
  memory().release(one);
  const Address two = memory().allocate(36 * kMiB, nullptr);
  EXPECT_NE(two, 0u);
  memory().release(two);
  end_stream(device(), stream);
}

TEST_F(MemoryTest, TrimReturnsWhatIsIdle) {
  const Address kept = memory().allocate(30 * kMiB, nullptr), idle = memory().allocate(50 * kMiB, nullptr);
  memory().release(idle);
  const size_t before = memory().statistics().reserved;
  memory().trim();
  EXPECT_EQ(memory().statistics().reserved, before - 50 * kMiB);
  memory().release(kept);
}

TEST_F(MemoryTest, Statistics) {
  const MemoryStatistics before = memory().statistics();
  const Address a = memory().allocate(1000, nullptr), b = memory().allocate(5 * kMiB, nullptr);
  const MemoryStatistics now = memory().statistics();
  EXPECT_EQ(now.allocations, before.allocations + 2);
  EXPECT_EQ(now.in_use, before.in_use + 1024 + 5 * kMiB);
  EXPECT_GE(now.most_in_use, now.in_use);
  EXPECT_GE(now.reserved, now.in_use);
  memory().release(a);
  memory().release(a);  // a second time: nothing happens
  memory().release(b);
}

TEST_F(MemoryTest, PinnedMemoryIsUsedAgainAfterTheCopy) {
  const CUstream stream = begin_stream(device());
  const size_t count = kMiB;
  const Address target = memory().allocate(count * sizeof(float), stream);
  std::vector<float> expected(count, 7);
  auto* const first = static_cast<float*>(memory().allocate_pinned(count * sizeof(float)));
  std::copy(expected.begin(), expected.end(), first);
  for (int i = 0; i < 10; ++i) check(driver().copy_to_device(target, first, count * sizeof(float), stream), "copying");
  memory().release_pinned(first);
  // The host writes at once: this must not be the block that is still read.
  auto* const second = static_cast<float*>(memory().allocate_pinned(count * sizeof(float)));
  std::fill_n(second, count, 9.0f);
  EXPECT_EQ(read(target, count, stream), expected);
  memory().release_pinned(second);
  auto* const third = memory().allocate_pinned(count * sizeof(float));
  EXPECT_TRUE(third == first || third == second);
  memory().release_pinned(third);
  EXPECT_EQ(memory().pinned_statistics().in_use, 0u);
  memory().release(target);
  end_stream(device(), stream);
}

TEST_F(MemoryTest, BlocksMove) {
  Block a(device(), 100);
  const Address address = a.address();
  Block b(std::move(a));
  EXPECT_EQ(a.address(), 0u);
  EXPECT_EQ(b.address(), address);
  a = std::move(b);
  EXPECT_EQ(a.address(), address);
  a = Block();
  EXPECT_EQ(a.address(), 0u);
}

// A stream takes a part of a block that another one still uses, and waits for it. A third use of the rest has not waited.
TEST_F(MemoryTest, TheRestOfABlockIsGuarded) {
  const CUstream one = begin_stream(device()), two = begin_stream(device());
  const Address whole = memory().allocate(30 * kMiB, one);
  for (int i = 0; i < 20; ++i) check(driver().fill_bytes(whole, 1, 30 * kMiB, one), "filling");
  memory().release(whole);
  const Address part = memory().allocate(2 * kMiB, two);
  EXPECT_EQ(part, whole);
  const Address other = memory().allocate(20 * kMiB, nullptr);
  if (other > whole && other < whole + 30 * kMiB) {
    EXPECT_EQ(driver().stream_query(one), 0);
  }
  memory().release(part);
  memory().release(other);
  end_stream(device(), one);
  end_stream(device(), two);
}

// What is kept for later runs gives way before an allocation fails.
TEST_F(MemoryTest, WhatIsKeptGivesWay) {
  memory().limit(memory().statistics().reserved + 40 * kMiB);
  std::vector<Block> kept;
  kept.emplace_back(device(), 30 * kMiB);
  int asked = 0;
  const auto spare = memory().add_spare([&] {
    ++asked;
    kept.clear();
  });
  const Block fits(device(), 4 * kMiB);
  EXPECT_EQ(asked, 0);
  const Block large(device(), 30 * kMiB);
  EXPECT_EQ(asked, 1);
  EXPECT_THROW(Block(device(), 60 * kMiB), Error);
  memory().remove_spare(spare);
  asked = 0;
  EXPECT_THROW(Block(device(), 60 * kMiB), Error);
  EXPECT_EQ(asked, 0);
}

TEST_F(MemoryTest, ThreadsAndStreams) {
  const int64_t blocks = 200;
  const auto work = [&](int which) {
    device().enter();
    const CUstream stream = begin_stream(device());
    for (int64_t i = 0; i < blocks; ++i) {
      const size_t count = size_t(1) << (8 + (i * 7 + which) % 12);
      const Address block = memory().allocate(count * sizeof(float), stream);
      ASSERT_NE(block, 0u);
      const float value = float(which * 1000 + i);
      unsigned bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      check(driver().fill_words(block, bits, count, stream), "filling");
      if (i % 5 == 0) {
        EXPECT_EQ(read(block, count, stream), std::vector<float>(count, value));
      }
      memory().release(block);
    }
    end_stream(device(), stream);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace providers::cuda
