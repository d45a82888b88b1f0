// Resampling against the plain loop, at every instruction level.
#include "kernels/resize/resize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/thread_pool.h"

namespace retort::kernels {
namespace {

constexpr float kGuard = 12345.0f;

// A table of random positions and weights that add up to 1.
struct Table {
  std::vector<int32_t> index;
  std::vector<float> weight;

  Table(size_t in, size_t out, size_t taps, bool weights) {
    std::mt19937 random(unsigned(in * 7 + out));
    for (size_t i = 0; i < out * taps; ++i) index.push_back(int32_t(random() % in));
    for (size_t i = 0; weights && i < out * taps; ++i)
      weight.push_back(2 * float(i % taps + 1) / float(taps * (taps + 1)));
  }
  ResizeAxis axis(size_t out, size_t taps) const {
    return {out, taps, index.data(), weight.empty() ? nullptr : weight.data()};
  }
};

std::vector<float> random_floats(size_t n) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> v(n);
  for (float& x : v) x = normal(random);
  return v;
}

std::vector<float> fresh_output(const ResizeArgs& a) {
  return std::vector<float>(a.batch * a.rows.size * a.columns.size * a.out_pixel_stride + 32, kGuard);
}

std::vector<float> run(ResizeArgs a, const Parallel& par) {
  std::vector<float> output = fresh_output(a);
  a.output = output.data();
  resize_nhwc(a, par);
  return output;
}

void check_resize(ResizeArgs a) {
  std::vector<float> want = fresh_output(a);
  a.output = want.data();
  resize_reference(a);
  for (int level = 0; level < kIsaCount; ++level) {
    const ScopedIsa isa{Isa(level)};
    const std::vector<float> got = run(a, Parallel());
    size_t wrong = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      const bool exact = want[i] == kGuard || !a.rows.weight;
      if (std::isnan(want[i])) {
        wrong += !std::isnan(got[i]);
      } else {
        wrong += exact ? want[i] != got[i] : !(std::fabs(want[i] - got[i]) < 2e-6f);
      }
    }
    EXPECT_EQ(wrong, 0u) << cat("channels {} taps {}x{} {}", a.channels, a.rows.taps, a.columns.taps,
                                isa_name(current_isa()));
  }
}

TEST(Resize, EveryTableAndChannelCount) {
  for (const size_t channels : {1, 3, 16, 17, 24, 33, 64}) {
    for (const size_t taps : {1, 2, 4, 5}) {
      for (const bool weights : {false, true}) {
        if (taps > 1 && !weights) continue;
        const Table rows(6, 9, taps, weights), columns(5, 13, taps, weights);
        ResizeArgs a{.batch = 2, .in_h = 6, .in_w = 5, .channels = channels};
        a.in_pixel_stride = channels + 2;
        a.out_pixel_stride = channels + 5;
        a.rows = rows.axis(9, taps);
        a.columns = columns.axis(13, taps);
        const std::vector<float> input = random_floats(a.batch * a.in_h * a.in_w * a.in_pixel_stride);
        a.input = input.data();
        check_resize(a);
      }
    }
  }
}

TEST(Resize, AxesWithDifferentTaps) {
  const Table rows(6, 9, 2, true), columns(5, 4, 3, true);
  const std::vector<float> input = random_floats(6 * 5 * 20);
  check_resize({1, 6, 5, 20, 20, 20, rows.axis(9, 2), columns.axis(4, 3), input.data(), nullptr});
}

TEST(Resize, NanStaysInItsChannel) {
  const Table rows(6, 9, 2, true), columns(5, 4, 2, true);
  std::vector<float> input = random_floats(6 * 5 * 20);
  input[2 * 5 * 20 + 7] = std::numeric_limits<float>::quiet_NaN();
  check_resize({1, 6, 5, 20, 20, 20, rows.axis(9, 2), columns.axis(4, 2), input.data(), nullptr});
}

TEST(Resize, EmptyBatch) {
  const Table rows(6, 9, 2, true), columns(5, 4, 2, true);
  check_resize({0, 6, 5, 20, 20, 20, rows.axis(9, 2), columns.axis(4, 2), nullptr, nullptr});
}

TEST(Resize, SameBitsForAnyNumberOfThreads) {
  const Table rows(40, 80, 2, true), columns(40, 81, 2, true);
  const std::vector<float> input = random_floats(2 * 40 * 40 * 33);
  const ResizeArgs a{2, 40, 40, 33, 33, 33, rows.axis(80, 2), columns.axis(81, 2), input.data(), nullptr};
  const std::vector<float> once = run(a, Parallel());
  for (const int threads : {2, 3, 4, 7}) {
    ThreadPool pool({.threads = threads});
    const std::vector<float> again = run(a, Parallel(&pool, nullptr));
    EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace retort::kernels
