#include "run/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "memory/access.h"

namespace retort {
namespace {

constexpr size_t kGuards = kAccessIsChecked ? 2 * 64 : 0;  // a line behind each of two neighbours

bool live_together(const ArenaRequest& a, const ArenaRequest& b) { return a.first <= b.last && b.first <= a.last; }

// Values of a chain: each is read by the next step.
std::vector<ArenaRequest> chain(const std::vector<size_t>& bytes) {
  std::vector<ArenaRequest> requests;
  for (uint32_t i = 0; i < bytes.size(); ++i) requests.push_back({.bytes = bytes[i], .first = i, .last = i + 1});
  return requests;
}

TEST(Arena, ValuesLieInTheMiddleOfEarlierOnes) {
  const std::vector<ArenaRequest> requests = chain({640000, 320000, 240000, 160000, 300160, 96000});
  ArenaLayout layout;
  plan_arena(requests, layout);
  EXPECT_EQ(layout.bytes, 960000 + kGuards);  // no more than the largest two neighbours
  const auto middle = [&](size_t i) { return layout.offsets[i] + requests[i].bytes / 2; };
  for (size_t i = 2; i < requests.size(); ++i) {
    const size_t off_first = middle(i) > middle(0) ? middle(i) - middle(0) : middle(0) - middle(i);
    const size_t off_second = middle(i) > middle(1) ? middle(i) - middle(1) : middle(1) - middle(i);
    EXPECT_LE(std::min(off_first, off_second), 64u) << i;
  }
}

TEST(Arena, LivingValuesDoNotOverlap) {
  std::mt19937 random(7);
  const auto draw = [&](size_t below) { return size_t(random()) % below; };
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaRequest> requests(1 + draw(40));
    size_t all = 0;
    for (ArenaRequest& r : requests) {
      r.bytes = draw(round % 2 == 0 ? 5000 : 500000);
      r.first = uint32_t(draw(20));
      r.last = r.first + uint32_t(draw(6));
      all += r.bytes + 128;
    }
    ArenaLayout layout;
    plan_arena(requests, layout);
    EXPECT_LE(layout.bytes, all);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(layout.offsets[i] % 64, 0u);
      EXPECT_LE(layout.offsets[i] + requests[i].bytes, layout.bytes);
      for (size_t j = 0; j < i; ++j) {
        if (!live_together(requests[i], requests[j]) || requests[i].bytes * requests[j].bytes == 0) continue;
        EXPECT_TRUE(layout.offsets[i] >= layout.offsets[j] + requests[j].bytes ||
                    layout.offsets[j] >= layout.offsets[i] + requests[i].bytes);
      }
    }
  }
}

// If middles would need more memory, values lie at the lowest places.
TEST(Arena, MiddlesDoNotCostMemory) {
  // In the middle of the first, the second leaves two gaps, in neither of which the third has room.
  const std::vector<ArenaRequest> requests = {{.bytes = 640000, .first = 0, .last = 0},
                                              {.bytes = 320000, .first = 1, .last = 2},
                                              {.bytes = 320000, .first = 1, .last = 2}};
  ArenaLayout layout;
  plan_arena(requests, layout);
  EXPECT_EQ(layout.bytes, 640000 + kGuards);
}

}  // namespace
}  // namespace retort
