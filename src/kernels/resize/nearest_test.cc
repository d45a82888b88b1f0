// Tests moves to the nearest element against the plain loop, at every instruction level.
#include "kernels/resize/nearest.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/thread_pool.h"

namespace retort::kernels {
namespace {

using Index = std::vector<int32_t>;

Index repeated(size_t in, size_t factor) {
  Index list;
  for (size_t i = 0; i < in * factor; ++i) list.push_back(int32_t(i / factor));
  return list;
}
Index random_index(size_t in, size_t out) {
  std::mt19937 random(unsigned(in * 7 + out));
  Index list;
  for (size_t i = 0; i < out; ++i) list.push_back(int32_t(random() % in));
  return list;
}

void check(size_t planes, size_t in_h, size_t in_w, const Index& rows, const Index& columns, size_t bytes,
           const Parallel& par = {}) {
  constexpr uint8_t kGuard = 0xA5;
  constexpr size_t kOffset = 8;  // elements are aligned, vectors are not
  std::mt19937 random(3);
  std::vector<uint8_t> x(kOffset + planes * in_h * in_w * bytes);
  for (uint8_t& v : x) v = uint8_t(random());
  const size_t size = planes * rows.size() * columns.size() * bytes;
  std::vector<uint8_t> want(kOffset + size + 64, kGuard);
  for (size_t i = 0; i < size; ++i) {
    const size_t element = i / bytes, column = element % columns.size(), row = element / columns.size();
    const size_t from = (row / rows.size() * in_h + size_t(rows[row % rows.size()])) * in_w + size_t(columns[column]);
    want[kOffset + i] = x[kOffset + from * bytes + i % bytes];
  }
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    std::vector<uint8_t> y(want.size(), kGuard);
    resize_nearest({planes, in_h, in_w, rows, columns, bytes, x.data() + kOffset, y.data() + kOffset}, par);
    EXPECT_EQ(y, want) << cat("{} planes of {} by {} to {} by {}, {} bytes, {}", planes, in_h, in_w, rows.size(),
                              columns.size(), bytes, isa_name(current_isa()));
  }
}

TEST(ResizeNearest, TwiceAsLargeAtEveryWidth) {
  for (const size_t bytes : {1, 2, 3, 4, 8, 16, 33}) {
    for (size_t width = 1; width <= 133; width += width < 36 ? 1 : 7) {
      check(2, 3, width, repeated(3, 2), repeated(width, 2), bytes);
      check(1, 5, width, repeated(5, 1), repeated(width, 2), bytes);
    }
  }
}

TEST(ResizeNearest, AnyTable) {
  for (const size_t bytes : {1, 2, 4, 5, 8, 12}) {
    for (const size_t factor : {1, 3, 4}) check(3, 5, 7, repeated(5, factor), repeated(7, factor), bytes);
    check(2, 6, 21, random_index(6, 11), random_index(21, 42), bytes);
    check(2, 6, 21, {0, 1, 1, 1, 1, 5}, repeated(21, 2), bytes);
    check(0, 6, 21, repeated(6, 2), repeated(21, 2), bytes);
    check(2, 6, 21, {}, repeated(21, 2), bytes);
    check(2, 6, 21, repeated(6, 2), {}, bytes);
  }
}

TEST(ResizeNearest, OnSeveralThreads) {
  ThreadPool pool({.threads = 3});
  const Parallel par(&pool, nullptr);
  for (const size_t factor : {1, 2, 3}) check(5, 77, 203, repeated(77, factor), repeated(203, factor), 2, par);
}

TEST(ResizeNearest, DoublesOnlyIfEveryColumnDoes) {
  EXPECT_TRUE(doubles(repeated(5, 2), 5));
  EXPECT_FALSE(doubles(repeated(5, 2), 6));
  EXPECT_FALSE(doubles(Index{0, 1, 1, 1}, 2));
}

}  // namespace
}  // namespace retort::kernels
