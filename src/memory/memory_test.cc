#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/loading.h"
#include "memory/access.h"
#include "memory/host.h"
#include "memory/mapping.h"
#include "memory/shared_blocks.h"

namespace retort {
namespace {

/// KiB of the mapping at `address` that are in memory.
size_t resident_kib(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) found = begin == reinterpret_cast<uintptr_t>(address);
    size_t kib = 0;
    if (found && std::sscanf(line.c_str(), "Rss: %zu kB", &kib) == 1) return kib;
  }
  ADD_FAILURE() << "no such mapping";
  return 0;
}

size_t sum(const Tensor& t) {
  size_t total = 0;
  for (size_t i = 0; i < t.count(); ++i) total += t.data<uint8_t>()[i];
  return total;
}

/// Maps a file with these bytes; null if there is no space for it.
std::shared_ptr<void> mapping_of(const std::string& bytes) {
  std::FILE* file = std::tmpfile();
  if (!file) return nullptr;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0;
  std::shared_ptr<void> mapping = written ? map_file(fileno(file), {.size = bytes.size()}) : nullptr;
  std::fclose(file);
  return mapping;
}

TEST(Mapping, ReleasedPagesComeBackFromTheFile) {
  constexpr size_t kBytes = 1 << 20;
  const std::shared_ptr<void> mapping = mapping_of(std::string(kBytes, 1));
  ASSERT_TRUE(mapping);
  const Tensor all(DType::u8, {int64_t(kBytes)}, mapping.get(), mapping);
  EXPECT_EQ(sum(all), kBytes);
  EXPECT_EQ(resident_kib(mapping.get()), kBytes / 1024);
  // Keeps the pages that the tensor only partly covers.
  const Tensor inner(DType::u8, {kBytes / 2}, static_cast<char*>(mapping.get()) + 1, mapping);
  release_pages(inner);
  const size_t page = size_t(sysconf(_SC_PAGESIZE)) / 1024;
  EXPECT_EQ(resident_kib(mapping.get()), kBytes / 2 / 1024 + page);
  EXPECT_EQ(sum(all), kBytes);
}

TEST(Mapping, FetchedPagesAreThoseOfTheTensor) {
  constexpr size_t kBytes = 4 << 20;
  const std::shared_ptr<void> mapping = mapping_of(std::string(kBytes, 1));
  ASSERT_TRUE(mapping);
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  const Tensor inner(DType::u8, {kBytes / 2}, static_cast<char*>(mapping.get()) + page + 1, mapping);
  release_mapping(inner);
  fetch_pages(inner);
  EXPECT_EQ(sum(inner), kBytes / 2);
  EXPECT_GE(resident_kib(mapping.get()), kBytes / 2 / 1024);
  fetch_pages(Tensor(DType::u8, {kBytes}));  // no file
}

TEST(Mapping, AllPagesOfAMappingAreReleased) {
  constexpr size_t kBytes = 1 << 20;
  const std::shared_ptr<void> mapping = mapping_of(std::string(kBytes, 1));
  ASSERT_TRUE(mapping);
  const Tensor all(DType::u8, {int64_t(kBytes)}, mapping.get(), mapping);
  EXPECT_EQ(sum(all), kBytes);
  release_mapping(Tensor(DType::u8, {100}, static_cast<char*>(mapping.get()) + 5000, mapping));
  EXPECT_EQ(resident_kib(mapping.get()), 0u);
  EXPECT_EQ(sum(all), kBytes);
}

TEST(Mapping, AMovedTensorIsAlignedAndLeavesTheFile) {
  constexpr size_t kBytes = 9 << 20;
  std::string bytes(kBytes, 0);
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = char(i % 251);
  const std::shared_ptr<void> mapping = mapping_of(bytes);
  ASSERT_TRUE(mapping);
  const Tensor in_file(DType::f32, {int64_t(kBytes / 4 - 1)}, static_cast<char*>(mapping.get()) + 1, mapping);
  const Tensor moved = move_from_file(in_file);
  {
    const std::atomic<bool> cancelled{true};
    const LoadingThread loading(&cancelled);
    EXPECT_THROW(move_from_file(in_file), Error);
  }
  EXPECT_TRUE(is_aligned(DType::f32, moved.data()));
  EXPECT_EQ(moved.shape(), in_file.shape());
  EXPECT_EQ(std::memcmp(moved.data(), bytes.data() + 1, moved.bytes()), 0);
  EXPECT_LT(resident_kib(mapping.get()), 256u);
}

TEST(Mapping, OtherMemoryKeepsItsContent) {
  Tensor t(DType::u8, {1 << 20});
  std::memset(t.mutable_data(), 1, t.bytes());
  release_pages(t);
  EXPECT_EQ(sum(t), t.bytes());
  EXPECT_FALSE(file_range(t.owner(), t.data(), t.bytes()));
}

TEST(Block, IsAlignedAndWritableUpToItsEnd) {
  constexpr size_t kMiB = size_t(1) << 20;
  for (const size_t bytes : {size_t(0), size_t(1), kMiB - 1, kMiB, kMiB + 1, 2 * kMiB, 3 * kMiB - 1, 5 * kMiB + 3}) {
    const std::shared_ptr<void> block = allocate_block(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % 64, 0u);
    std::memset(block.get(), 1, bytes);
  }
}

TEST(Constants, OfMiddleSizeShareBlocks) {
  constexpr int64_t kBytes = int64_t(300) << 10;
  std::vector<Tensor> all;
  for (uint8_t i = 0; i < 20; ++i) {
    all.push_back(new_constant(DType::u8, {kBytes}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(all.back().data()) % 64, 0u);
    std::memset(all.back().mutable_data(), i, size_t(kBytes));
  }
  EXPECT_NE(shares_block(all.front()), kAccessIsChecked);
  for (uint8_t i = 0; i < 20; ++i) EXPECT_EQ(sum(all[i]), size_t(kBytes) * i);
  all.erase(all.begin(), all.begin() + 19);
  EXPECT_EQ(sum(all.front()), size_t(kBytes) * 19);
  EXPECT_FALSE(shares_block(new_constant(DType::u8, {1000})));
  EXPECT_FALSE(shares_block(new_constant(DType::u8, {int64_t(8) << 20})));
}

TEST(BlockPool, PiecesAreAlignedAndApart) {
  BlockPool pool;
  std::vector<std::shared_ptr<void>> pieces;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < 200; ++i) {
    sizes.push_back(i % 50 == 49 ? (20 << 20) : i * i);
    pieces.push_back(pool.allocate(sizes.back()));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(pieces.back().get()) % 64, 0u);
    std::memset(pieces.back().get(), int(i), sizes.back());
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto* p = static_cast<const uint8_t*>(pieces[i].get());
    for (size_t at : {size_t(0), sizes[i] / 2, sizes[i] - 1}) {
      if (at < sizes[i]) {
        ASSERT_EQ(p[at], uint8_t(i)) << i;
      }
    }
  }
}

TEST(BlockPool, UnderAddressSanitizerNoPieceReachesIntoTheNext) {
  if (!kAccessIsChecked) GTEST_SKIP();
  BlockPool pool;
  const std::shared_ptr<void> piece = pool.allocate(100), next = pool.allocate(100);
  volatile char* const end = static_cast<char*>(piece.get()) + 100;
  EXPECT_DEATH(*end = 1, "heap-buffer-overflow");
}

TEST(Access, UnderAddressSanitizerForbiddenMemoryIsReported) {
  if (!kAccessIsChecked) GTEST_SKIP();
  const std::shared_ptr<void> memory = allocate_block(128);
  volatile char* const bytes = static_cast<char*>(memory.get());
  forbid_access(memory.get(), 128);
  allow_access(memory.get(), 65);
  bytes[64] = 1;
  EXPECT_DEATH(bytes[65] = 1, "use-after-poison");
}

// A large piece that did not fit leaves room for small ones.
TEST(BlockPool, SmallPiecesFillBlocks) {
  if (kAccessIsChecked) GTEST_SKIP();  // then every piece is a block of its own
  constexpr size_t kLarge = size_t(9) << 20, kSmall = size_t(128) << 10;
  BlockPool pool;
  std::vector<std::shared_ptr<void>> pieces;
  pool.expect(7 * kLarge);
  // Three of them leave 5 MiB of a block of 32 MiB.
  for (int i = 0; i < 7; ++i) pieces.push_back(pool.allocate(kLarge));
  const auto base = reinterpret_cast<uintptr_t>(pieces[0].get());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.allocate(kSmall).get()), base + 3 * kLarge);
}

TEST(BlockPool, ExpectedBytesAreOneBlock) {
  if (kAccessIsChecked) GTEST_SKIP();
  constexpr size_t kBytes = size_t(1) << 20;
  BlockPool pool;
  pool.expect(4 * kBytes);
  std::vector<std::shared_ptr<void>> pieces;
  for (int i = 0; i < 4; ++i) pieces.push_back(pool.allocate(kBytes));
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(static_cast<char*>(pieces[0].get()) + i * kBytes, pieces[i].get());
  const std::shared_ptr<void> more = pool.allocate(kBytes);
  EXPECT_NE(static_cast<char*>(pieces[3].get()) + kBytes, more.get());
}

TEST(BlockPool, PiecesOutliveThePool) {
  std::shared_ptr<void> piece;
  {
    BlockPool pool;
    piece = pool.allocate(100);
    pool.allocate(1 << 20);
  }
  std::memset(piece.get(), 1, 100);
}

TEST(BlockPool, ReturnedPiecesAreReusedAsZeros) {
  if (kAccessIsChecked) GTEST_SKIP();
  constexpr size_t kBytes = size_t(1) << 20;
  BlockPool pool;
  pool.expect(3 * kBytes);
  const std::shared_ptr<void> first = pool.allocate(kBytes);
  std::shared_ptr<void> second = pool.allocate(kBytes), third = pool.allocate(kBytes);
  const void *two = second.get(), *three = third.get();
  std::memset(second.get(), 1, kBytes);
  std::memset(third.get(), 1, kBytes);
  pool.give_back(std::move(third), kBytes);   // directly before it
  pool.give_back(std::move(second), kBytes);  // joins the previous one
  const std::shared_ptr<void> again = pool.allocate(2 * kBytes);
  EXPECT_TRUE(again.get() == two || again.get() == three) << "2 MiB that are free are not used";
  const auto* p = static_cast<const char*>(again.get());
  EXPECT_EQ(std::count(p, p + 2 * kBytes, 0), ptrdiff_t(2 * kBytes));
}

std::shared_ptr<void> filled(size_t bytes, int value) {
  std::shared_ptr<void> block = allocate_block(bytes);
  std::memset(block.get(), value, bytes);
  return block;
}

TEST(SharedBlocks, EqualContentIsOneBlockWhileItLives) {
  constexpr size_t kBytes = 100000;
  SharedBlocks shared;
  std::shared_ptr<void> first = shared.unify(filled(kBytes, 7), kBytes);
  EXPECT_EQ(shared.unify(filled(kBytes, 7), kBytes), first);
  EXPECT_NE(shared.unify(filled(kBytes, 8), kBytes), first);
  EXPECT_NE(shared.unify(filled(kBytes - 1, 7), kBytes - 1), first);
  const std::weak_ptr<void> watched = first;
  first.reset();
  EXPECT_TRUE(watched.expired());
  const std::shared_ptr<void> own = filled(kBytes, 7);
  EXPECT_EQ(shared.unify(own, kBytes), own);
}

// Wherever the two blocks differ, also between the sampled words.
TEST(SharedBlocks, OneByteMakesADifference) {
  constexpr size_t kBytes = 70001;
  SharedBlocks shared;
  const std::shared_ptr<void> first = shared.unify(filled(kBytes, 0), kBytes);
  for (size_t at = 0; at < kBytes; at += 1000) {
    std::shared_ptr<void> other = filled(kBytes, 0);
    static_cast<char*>(other.get())[at] = 1;
    EXPECT_EQ(shared.unify(other, kBytes), other) << at;
  }
}

TEST(SharedBlocks, ComparingEndsWhenLoadingIsCancelled) {
  constexpr size_t kBytes = 70001;
  SharedBlocks shared;
  const std::shared_ptr<void> first = shared.unify(filled(kBytes, 0), kBytes);
  const std::atomic<bool> cancelled{true};
  const LoadingThread loading(&cancelled);
  EXPECT_THROW(shared.unify(filled(kBytes, 0), kBytes), Error);
}

TEST(SharedBlocks, DifferentRangesOfFilesAreDistinct) {
  SharedBlocks shared;
  const FileRange range{{1, 2, 3, 1000}, 100, 50};
  FileRange newer = range, later = range, longer = range;
  newer.file.modified_ns = 4;
  later.offset = 101;
  longer.length = 51;
  std::shared_ptr<void> block = filled(50, 1);
  shared.keep(range, block);
  EXPECT_EQ(shared.find(range), block);
  for (const FileRange& other : {newer, later, longer}) EXPECT_EQ(shared.find(other), nullptr);
  block.reset();
  EXPECT_EQ(shared.find(range), nullptr);
}

TEST(SharedBlocks, ThreadsGetEqualContent) {
  constexpr size_t kBytes = 50000;
  SharedBlocks shared;
  std::vector<std::shared_ptr<void>> kept(400);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < kept.size(); i += 4) kept[i] = shared.unify(filled(kBytes, int(i / 4 % 10)), kBytes);
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::shared_ptr<void>& block : kept) {
    const int value = *static_cast<const unsigned char*>(block.get());
    EXPECT_EQ(std::memcmp(block.get(), filled(kBytes, value).get(), kBytes), 0);
  }
}

}  // namespace
}  // namespace retort
