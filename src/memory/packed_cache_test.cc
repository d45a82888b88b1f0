#include "memory/packed_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/loading.h"

namespace retort {
namespace {

constexpr size_t kLarge = size_t(1) << 20, kSmall = 1000;
constexpr size_t kHead = 56, kEntry = 40;  // sizes in the file: of its header, and of each entry of the table after it

std::shared_ptr<void> block(size_t bytes, int seed) {
  std::shared_ptr<void> memory(new char[bytes], [](void* p) { delete[] static_cast<char*>(p); });
  for (size_t i = 0; i < bytes; ++i) static_cast<char*>(memory.get())[i] = char(i * 31 + i / 4096 + size_t(seed));
  return memory;
}

class PackedFile : public testing::Test {
 protected:
  PackedFile() {
    std::string name = (std::filesystem::temp_directory_path() / "retort_packed_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/model.packed";
  }
  ~PackedFile() override { std::filesystem::remove_all(folder_); }

  static Fingerprint key(uint64_t of) {
    Fingerprint f;
    f.add(of);
    return f;
  }
  static const void* content(int i) {
    static const std::shared_ptr<void> blocks[] = {block(kLarge, 1), block(kSmall, 2)};
    return blocks[i].get();
  }
  std::unique_ptr<PackedCache> open(uint64_t of = 1, SharedBlocks* shared = nullptr) {
    return std::make_unique<PackedCache>(path_, key(of), shared, logger_);
  }
  /// A start of a session: packs the blocks that are not found. Returns how many were found.
  int start(uint64_t of = 1) {
    const auto cache = open(of);
    int found = 0;
    for (uint32_t i = 0; i < 2; ++i) {
      const size_t bytes = i ? kSmall : kLarge;
      const auto there = cache->find({0, 7, i}, bytes);
      if (there) {
        EXPECT_EQ(std::memcmp(there.get(), content(int(i)), bytes), 0);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(there.get()) % 64, 0u);
        ++found;
      } else {
        cache->add({0, 7, i}, block(bytes, int(i) + 1), bytes);
      }
    }
    cache->save();
    return found;
  }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& bytes) const { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }
  size_t files() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder_)) ++n;
    return n;
  }

  std::string folder_, path_, log_;
  Logger logger_{
      LogLevel::warning, "test",
      [this](LogLevel, std::string_view, std::string_view, std::string_view, std::string_view text) { log_ += text; }};
};

TEST_F(PackedFile, IsNotWrittenIfLoadingIsCancelled) {
  const std::atomic<bool> cancelled{true};
  const auto cache = open();
  cache->add({0, 7, 0}, block(kLarge, 1), kLarge);
  const LoadingThread loading(&cancelled);
  EXPECT_THROW(cache->save(), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "a temporary file is left";
}

TEST_F(PackedFile, IsReadAfterItWasWritten) {
  EXPECT_EQ(start(), 0);
  const std::string written = bytes();
  EXPECT_EQ(start(), 2);
  EXPECT_EQ(bytes(), written);
  EXPECT_EQ(log_, "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(PackedFile, OfAnotherKeyIsReplaced) {
  start(1);
  EXPECT_EQ(start(2), 0);
  EXPECT_EQ(start(2), 2);
  EXPECT_EQ(start(1), 0);
  EXPECT_EQ(log_, "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(PackedFile, HasNoBlockOfAnotherNameOrSize) {
  start();
  const auto cache = open();
  EXPECT_FALSE(cache->find({0, 7, 2}, kSmall));
  EXPECT_FALSE(cache->find({1, 7, 1}, kSmall));
  EXPECT_FALSE(cache->find({0, 7, 1}, kSmall + 1));
  EXPECT_TRUE(cache->find({0, 7, 1}, kSmall));
}

TEST_F(PackedFile, ThatIsBrokenIsReportedAndReplaced) {
  start();
  const std::string good = bytes();
  const size_t first = 4096;  // where blocks begin
  std::vector<std::pair<std::string, std::string>> broken{{"", "cut short"},
                                                          {"pointless", "cut short"},
                                                          {std::string(4096, 'x'), "contains no packed weights"},
                                                          {good.substr(0, 60), "cut short"},
                                                          {good.substr(0, good.size() - 64), "cut short"},
                                                          {good + "more", "cut short"}};
  for (const size_t at : {size_t(8), size_t(12), size_t(16), size_t(32), size_t(40), kHead + 1, kHead + kEntry + 17,
                          first, first + 17 * 4096, first + kLarge - 1, first + kLarge + kSmall / 2}) {
    std::string bad = good;
    bad[at] = char(bad[at] ^ 4);
    broken.emplace_back(bad, "'" + path_ + "' ");
  }
  for (const auto& [bad, words] : broken) {
    SCOPED_TRACE(words);
    put(bad);
    log_.clear();
    EXPECT_LT(start(), 2);
    EXPECT_NE(log_.find(words), std::string::npos) << log_;
    EXPECT_EQ(bytes(), good);
    log_.clear();
    EXPECT_EQ(start(), 2);
    EXPECT_EQ(log_, "");
  }
}

// The check sum may be right although the table is wrong.
TEST_F(PackedFile, IsNotReadBeyondItsEnd) {
  start();
  const std::string good = bytes();
  for (const uint64_t offset : {uint64_t(good.size()), ~uint64_t(63), uint64_t(4097)}) {
    std::string bad = good;
    std::memcpy(&bad[kHead + 16], &offset, sizeof offset);
    std::memset(&bad[40], 0, 16);
    Fingerprint check;
    check.add(bad.data(), kHead);
    check.add(bad.data() + kHead, 2 * kEntry);
    const uint64_t words[] = {check.high(), check.low()};
    std::memcpy(&bad[40], words, sizeof words);
    put(bad);
    log_.clear();
    EXPECT_EQ(start(), 0);
    EXPECT_NE(log_.find("is damaged"), std::string::npos) << log_;
  }
}

TEST_F(PackedFile, WritersDoNotDisturbEachOtherOrReaders) {
  start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        PackedCache cache(path_, key(uint64_t(t % 2)), nullptr, logger_);
        const auto there = cache.find({0, 7, 0}, kLarge);
        EXPECT_TRUE(!there || std::memcmp(there.get(), content(0), kLarge) == 0);
        if (!there) cache.add({0, 7, 0}, block(kLarge, 1), kLarge);
        cache.save();
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(log_, "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(PackedFile, StaysMappedOnceForAllWhoReadIt) {
  start();
  SharedBlocks shared;
  const auto a = open(1, &shared), b = open(1, &shared);
  const auto first = a->find({0, 7, 0}, kLarge);
  EXPECT_EQ(first, b->find({0, 7, 0}, kLarge));
  std::filesystem::remove(path_);
  EXPECT_EQ(std::memcmp(first.get(), content(0), kLarge), 0);
}

TEST_F(PackedFile, ThatCannotBeWrittenIsAWarning) {
  path_ = "/proc/self/model.packed";
  EXPECT_EQ(start(), 0);
  EXPECT_NE(log_.find("cannot create '/proc/self/model.packed"), std::string::npos) << log_;
  log_.clear();
  path_ = folder_;  // a folder
  EXPECT_EQ(start(), 0);
  EXPECT_NE(log_.find("is not a regular file"), std::string::npos) << log_;
  EXPECT_NE(log_.find("cannot rename"), std::string::npos) << log_;
}

TEST_F(PackedFile, IsNotWrittenForLittle) {
  const auto cache = open();
  cache->add({}, block(kSmall, 1), kSmall);
  cache->save();
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace retort
