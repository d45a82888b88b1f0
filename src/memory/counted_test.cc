#include "memory/counted.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "memory/budget.h"

namespace retort {
namespace {

using Numbers = std::map<std::string, std::string>;

/// Allocates at odd addresses, and has no more than `room` bytes.
struct Odd : Allocator {
  MemorySpace host;
  size_t room = size_t(1) << 30, blocks = 0;
  const MemorySpace& space() const override { return host; }
  void* allocate(size_t bytes) override {
    if (bytes > room) return nullptr;
    ++blocks;
    return static_cast<char*>(std::malloc(bytes + 1)) + 1;
  }
  void release(void* memory) noexcept override {
    --blocks;
    std::free(static_cast<char*>(memory) - 1);
  }
};

void expect(const CountedMemory& memory, const Numbers& expected) {
  Numbers found = memory.statistics();
  EXPECT_EQ(found.size(), 10u);
  for (const auto& [name, number] : expected) EXPECT_EQ(found[name], number) << name;
}

std::string refusal(CountedMemory& memory, size_t bytes) {
  try {
    memory.result(bytes);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::fail);
    return e.message();
  }
  return "no error";
}

TEST(CountedMemory, CountsBlocksOfEachKind) {
  const auto memory = std::make_shared<CountedMemory>();
  expect(*memory, {{"Limit", "-1"}, {"InUse", "0"}, {"NumAllocs", "0"}, {"MaxAllocSize", "0"}});
  std::shared_ptr<void> workspace = memory->workspace(1000), result = memory->result(200);
  void *callers = memory->allocate(30), *reserved = memory->reserve(4);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(callers) % 64, 0u);
  EXPECT_EQ(memory->allocate(0), nullptr);
  expect(*memory, {{"InUse", "1234"},
                   {"RequestedInUse", "1234"},
                   {"TotalAllocated", "1234"},
                   {"MaxInUse", "1234"},
                   {"NumAllocs", "4"},
                   {"NumReserves", "1"},
                   {"NumArenaExtensions", "1"},
                   {"NumArenaShrinkages", "0"},
                   {"MaxAllocSize", "1000"}});
  workspace = nullptr;
  memory->release(callers);
  memory->release(nullptr);
  expect(*memory, {{"InUse", "204"}, {"MaxInUse", "1234"}, {"NumArenaShrinkages", "1"}});
  memory->release(reserved);
  result = nullptr;
  expect(*memory, {{"InUse", "0"}, {"RequestedInUse", "0"}, {"NumAllocs", "4"}});
}

TEST(CountedMemory, CountsResultsThatLieElsewhere) {
  const auto memory = std::make_shared<CountedMemory>();
  EXPECT_FALSE(memory->serves_results());
  EXPECT_FALSE(memory->counts_results());
  const auto elsewhere = std::make_shared<int>(7);
  std::shared_ptr<void> counted = memory->count(elsewhere, sizeof(int));
  EXPECT_EQ(counted.get(), elsewhere.get());
  expect(*memory, {{"InUse", "4"}, {"NumAllocs", "1"}, {"NumArenaExtensions", "0"}});
  EXPECT_EQ(elsewhere.use_count(), 2);
  counted = nullptr;
  EXPECT_EQ(elsewhere.use_count(), 1);
  expect(*memory, {{"InUse", "0"}, {"MaxInUse", "4"}});
}

TEST(CountedMemory, BlocksOutliveTheirOwner) {
  auto memory = std::make_shared<CountedMemory>();
  const std::weak_ptr<CountedMemory> alive = memory;
  std::shared_ptr<void> result = memory->result(100);
  memory = nullptr;
  EXPECT_FALSE(alive.expired());
  result = nullptr;
  EXPECT_TRUE(alive.expired());
}

TEST(CountedMemory, ALimitIsNamed) {
  const auto memory = std::make_shared<CountedMemory>(1000);
  EXPECT_TRUE(memory->serves_results());
  const std::shared_ptr<void> most = memory->result(900);
  EXPECT_NE(refusal(*memory, 101)
                .find("101 bytes are needed, but the max_mem of the arena is 1000 bytes, of which 900 "
                      "are in use"),
            std::string::npos);
  EXPECT_EQ(refusal(*memory, 100), "no error");
  EXPECT_NE(refusal(*memory, SIZE_MAX).find("max_mem"), std::string::npos);
  expect(*memory, {{"Limit", "1000"}, {"InUse", "900"}, {"MaxInUse", "1000"}, {"NumAllocs", "2"}});
}

TEST(CountedMemory, MemoryOfASourceIsAligned) {
  const auto source = std::make_shared<Odd>();
  const auto memory = std::make_shared<CountedMemory>(0, source);
  {
    const std::shared_ptr<void> result = memory->result(10);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(result.get()) % 64, 0u);
    EXPECT_EQ(source->blocks, 1u);
    expect(*memory, {{"InUse", "73"}, {"RequestedInUse", "10"}});
  }
  EXPECT_EQ(source->blocks, 0u);
  source->room = 100;
  EXPECT_NE(refusal(*memory, 38).find("the environment's allocator has no 101 bytes"), std::string::npos);
  expect(*memory, {{"InUse", "0"}, {"NumAllocs", "1"}});
}

// Idle workspaces of all who share the memory are freed before a run fails.
TEST(CountedMemory, MakesRoom) {
  const auto memory = std::make_shared<CountedMemory>(1000);
  MemoryBudget budget;
  std::shared_ptr<void> idle, others;
  std::shared_ptr<void> room = memory->offer_room([&] { idle = nullptr; });
  const std::shared_ptr<void> more_room = memory->offer_room([&] { others = nullptr; });
  budget.set_memory(memory);
  EXPECT_EQ(budget.limit(), 1000u);
  idle = budget.allocate(400);
  others = memory->workspace(400);
  std::shared_ptr<void> next = memory->result(900);
  EXPECT_EQ(idle, nullptr);
  EXPECT_EQ(others, nullptr);
  expect(*memory, {{"InUse", "900"}, {"NumArenaExtensions", "2"}, {"NumArenaShrinkages", "2"}});
  EXPECT_THROW(budget.allocate(200), Error);
  next = nullptr;
  room = nullptr;  // its owner is gone
  idle = budget.allocate(800);
  EXPECT_THROW(budget.allocate(300), Error);
  EXPECT_NE(idle, nullptr);
}

}  // namespace
}  // namespace retort
