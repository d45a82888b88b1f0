#include "tensor/items.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "tensor/tensor.h"

namespace retort {
namespace {

Value number(int64_t n) { return Tensor::of<int64_t>({}, {n}); }

std::vector<int64_t> numbers(const Items& items) {
  std::vector<int64_t> all;
  for (const Value& v : items) all.push_back(*v.tensor()->data<int64_t>());
  return all;
}

// Copies share memory, and yet none sees what another one does.
TEST(Items, CopiesAreAsIndependentAsVectors) {
  std::mt19937 draw(1);
  std::vector<Items> copies(5);
  std::vector<std::vector<int64_t>> right(copies.size());
  for (int64_t step = 0; step < 4000; ++step) {
    const size_t i = draw() % copies.size(), j = draw() % copies.size(), size = right[i].size();
    const size_t at = draw() % (size + 1);
    switch (draw() % 5) {
      case 0:
        copies[i] = copies[j];
        right[i] = right[j];
        break;
      case 1:
        if (at == size) break;
        copies[i].erase(at);
        right[i].erase(right[i].begin() + ptrdiff_t(at));
        break;
      case 2:
        copies[i].insert(at, number(step));
        right[i].insert(right[i].begin() + ptrdiff_t(at), step);
        break;
      default:
        copies[i].push_back(number(step));
        right[i].push_back(step);
    }
    ASSERT_EQ(copies[i].size(), right[i].size());
  }
  for (size_t i = 0; i < copies.size(); ++i) EXPECT_EQ(numbers(copies[i]), right[i]);
}

// The memory behind the elements is claimed by one copy alone.
TEST(Items, CopiesInThreadsAddAtTheSameTime) {
  constexpr int64_t kThreads = 4, kAdded = 5, kRounds = 400;  // only the first addition competes
  for (int64_t round = 0; round < kRounds; ++round) {
    Items common;
    common.push_back(number(-1));
    common.push_back(number(-2));
    std::vector<Items> copies(kThreads, common);
    std::vector<std::thread> threads;
    for (int64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&copy = copies[size_t(t)], t] {
        for (int64_t i = 0; i < kAdded; ++i) {
          copy.push_back(number(t * kAdded + i));
          ASSERT_EQ(*copy[0].tensor()->data<int64_t>(), -1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int64_t t = 0; t < kThreads; ++t) {
      std::vector<int64_t> right{-1, -2};
      for (int64_t i = 0; i < kAdded; ++i) right.push_back(t * kAdded + i);
      ASSERT_EQ(numbers(copies[size_t(t)]), right);
    }
    EXPECT_EQ(numbers(common), (std::vector<int64_t>{-1, -2}));
  }
}

TEST(Items, AnElementIsReleasedWithTheLastCopy) {
  Items first{Optional{std::make_shared<Value>(number(1))}};
  const std::weak_ptr<Value> held = first[0].get<Optional>()->value;
  {
    Items second = first;
    second.push_back(number(2));
    first = {};
    EXPECT_FALSE(held.expired());
  }
  EXPECT_TRUE(held.expired());
}

}  // namespace
}  // namespace retort
