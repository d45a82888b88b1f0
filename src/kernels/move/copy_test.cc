#include "kernels/move/copy.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

class CopyKernel : public testing::PerIsa {};

// Sizes around the limits for threads and for stores past the caches, and every place within a cache line.
TEST_P(CopyKernel, CopiesAllBytesAndNoMore) {
  constexpr size_t kMiB = size_t(1) << 20, kGuard = 130;
  const auto allocate = [](size_t bytes) {
    return std::unique_ptr<uint8_t[], decltype(&std::free)>(
        static_cast<uint8_t*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), &std::free);
  };
  const auto from = allocate(33 * kMiB + 2 * kGuard), to = allocate(33 * kMiB + 2 * kGuard);
  for (size_t i = 0; i < 33 * kMiB + 2 * kGuard; ++i) from[i] = uint8_t(i * 7 + i / 4096);
  for (const size_t bytes :
       {size_t(0), size_t(1), kMiB - 1, kMiB, 2 * kMiB + 3, 32 * kMiB - 1, 32 * kMiB, 33 * kMiB + 5}) {
    for (const size_t at : {0, 1, 63}) {
      std::fill_n(to.get(), bytes + 2 * kGuard, uint8_t(99));
      copy_bytes(to.get() + at, from.get() + 3, bytes, three_threads());
      ASSERT_TRUE(std::equal(from.get() + 3, from.get() + 3 + bytes, to.get() + at)) << bytes << " at " << at;
      ASSERT_TRUE(std::all_of(to.get(), to.get() + at, [](uint8_t b) { return b == 99; })) << bytes;
      ASSERT_TRUE(std::all_of(to.get() + at + bytes, to.get() + bytes + 2 * kGuard, [](uint8_t b) { return b == 99; }))
          << bytes;
    }
  }
}

TEST_P(CopyKernel, StreamsAllBytesAndNoMore) {
  constexpr size_t kGuard = 130;
  std::vector<uint8_t> from(1000 + kGuard);
  for (size_t i = 0; i < from.size(); ++i) from[i] = uint8_t(i * 7 + i / 256);
  for (const size_t bytes : {0, 1, 63, 64, 65, 200, 1000}) {
    for (size_t at = 0; at < 64; at += 9) {
      std::vector<uint8_t> to(bytes + 2 * kGuard, uint8_t(99)), want = to;
      std::copy_n(from.data() + 3, bytes, want.data() + at);
      stream_bytes(to.data() + at, from.data() + 3, bytes);
      ASSERT_EQ(want, to) << bytes << " at " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CopyKernel, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
