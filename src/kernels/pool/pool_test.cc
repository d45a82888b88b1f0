// Tests pooling against the plain loops, at every instruction level.
#include "kernels/pool/pool.h"

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
constexpr PoolKind kKinds[] = {PoolKind::max, PoolKind::average, PoolKind::average_include_pad};

std::vector<float> random_floats(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(n);
  for (float& x : v) x = normal(random);
  return v;
}

bool same(float want, float got, float tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  return want == got || std::fabs(want - got) <= tolerance;
}

void expect_same(const std::vector<float>& want, const std::vector<float>& got, float tolerance,
                 const std::string& what) {
  size_t wrong = 0;
  for (size_t i = 0; i < want.size(); ++i) wrong += !same(want[i], got[i], want[i] == kGuard ? 0 : tolerance);
  EXPECT_EQ(wrong, 0u) << what << " " << isa_name(current_isa());
}

void set_out_size(PoolShape& s, bool ceiling) {
  const auto extent = [ceiling](size_t padded, size_t reach, size_t stride) {
    return (padded - reach + (ceiling ? stride - 1 : 0)) / stride + 1;
  };
  s.out_d = extent(s.in_d + s.pad_front + s.pad_back, (s.kernel_d - 1) * s.dilation_d + 1, s.stride_d);
  s.out_h = extent(s.in_h + s.pad_top + s.pad_bottom, (s.kernel_h - 1) * s.dilation_h + 1, s.stride_h);
  s.out_w = extent(s.in_w + s.pad_left + s.pad_right, (s.kernel_w - 1) * s.dilation_w + 1, s.stride_w);
}

std::vector<float> run(const PoolShape& s, PoolKind kind, bool nchw, const std::vector<float>& input,
                       const Parallel& par) {
  std::vector<float> output(s.batch * s.out_d * s.out_h * s.out_w * s.out_pixel_stride + 32, kGuard);
  const PoolArgs args{s, kind, input.data(), output.data()};
  nchw ? pool_nchw(args, par) : pool_nhwc(args, par);
  return output;
}

// Tests every kind, both layouts, every level; `poison`, if not 0, is put into the middle of the input.
void check_pool(PoolShape s, bool ceiling = false, float poison = 0) {
  set_out_size(s, ceiling);
  s.in_pixel_stride = s.channels + 3;
  s.out_pixel_stride = s.channels + 2;
  std::vector<float> input = random_floats(s.batch * s.in_d * s.in_h * s.in_w * s.in_pixel_stride, 1);
  if (poison != 0 && !input.empty()) input[s.in_h * s.in_w / 2 * s.in_pixel_stride] = poison;
  for (const PoolKind kind : kKinds) {
    for (const bool nchw : {false, true}) {
      if (!nchw && s.in_d > 1) continue;
      std::vector<float> want(s.batch * s.out_d * s.out_h * s.out_w * s.out_pixel_stride + 32, kGuard);
      pool_reference({s, kind, input.data(), want.data()}, nchw);
      for (int level = 0; level <= int(best_isa()); ++level) {
        const ScopedIsa isa{Isa(level)};
        expect_same(want, run(s, kind, nchw, input, Parallel()), kind == PoolKind::max ? 0 : 1e-6f,
                    cat("kind {} nchw {} channels {} in {}x{} kernel {}x{} stride {}", int(kind), nchw, s.channels,
                        s.in_h, s.in_w, s.kernel_h, s.kernel_w, s.stride_w));
      }
    }
  }
}

TEST(Pool, KernelsStridesChannels) {
  for (const size_t channels : {1, 3, 17, 24, 33, 64, 100}) {
    for (const size_t kernel : {1, 2, 3, 5}) {
      for (const size_t stride : {1, 2, 3}) {
        PoolShape s{.batch = 2, .in_h = 9, .in_w = 41, .channels = channels, .kernel_h = kernel, .kernel_w = kernel};
        s.stride_h = s.stride_w = stride;
        s.pad_top = s.pad_left = kernel / 2;
        s.pad_bottom = s.pad_right = (kernel - 1) / 2;
        check_pool(s);
        check_pool(s, true);
      }
    }
  }
}

TEST(Pool, DilationAndUnevenPadding) {
  PoolShape s{.batch = 1,
              .in_h = 11,
              .in_w = 50,
              .channels = 5,
              .kernel_h = 3,
              .kernel_w = 2,
              .dilation_h = 2,
              .dilation_w = 3};
  s.pad_top = 2, s.pad_left = 1, s.pad_bottom = 1, s.pad_right = 0;
  check_pool(s);
  s.stride_w = 2;
  check_pool(s, true);
}

TEST(Pool, ThreeDimensions) {
  for (const size_t kernel : {1, 2, 3}) {
    for (const size_t width : {2, 9, 40}) {
      PoolShape s{.batch = 2, .in_h = 5, .in_w = width, .channels = 3, .kernel_h = 2, .kernel_w = 2, .stride_w = 2};
      s.in_d = 6, s.kernel_d = kernel, s.stride_d = 2, s.dilation_d = 2, s.pad_front = s.pad_back = kernel - 1;
      s.pad_top = s.pad_right = 1;
      check_pool(s);
      check_pool(s, true, std::nanf(""));
    }
  }
}

TEST(Pool, OneDimension) {
  PoolShape s{.batch = 2, .in_w = 77, .channels = 20, .kernel_w = 4, .stride_w = 2};
  check_pool(s);
}

TEST(Pool, Columns) {
  for (const size_t stride : {1, 2}) {
    PoolShape s{.batch = 2, .in_h = 41, .in_w = 1, .channels = 5, .kernel_h = 3};
    s.stride_h = stride;
    s.pad_top = 1, s.pad_bottom = 2;
    check_pool(s);
    check_pool(s, true);
    s.in_w = 2;
    check_pool(s);
  }
}

// Lines that are pooled in parts, and windows wider than a part.
TEST(Pool, LongLines) {
  for (const size_t kernel : {3, 2100}) {
    for (const size_t stride : {1, 3}) {
      PoolShape s{.batch = 1, .in_h = 2, .in_w = 2401, .channels = 1, .kernel_h = 2, .kernel_w = kernel};
      s.stride_w = stride;
      s.pad_left = s.pad_right = kernel / 2;
      check_pool(s);
    }
  }
}

TEST(Pool, WindowsOutsideTheImage) {
  PoolShape s{.batch = 1, .in_h = 2, .in_w = 2, .channels = 3, .kernel_h = 2, .kernel_w = 2};
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 4;
  check_pool(s);
}

TEST(Pool, NotFinite) {
  PoolShape s{.batch = 1, .in_h = 7, .in_w = 40, .channels = 18, .kernel_h = 3, .kernel_w = 3};
  const float inf = std::numeric_limits<float>::infinity();
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), inf, -inf}) check_pool(s, false, poison);
}

TEST(Pool, EmptyBatch) {
  PoolShape s{.batch = 0, .in_h = 7, .in_w = 8, .channels = 18, .kernel_h = 3, .kernel_w = 3};
  check_pool(s);
}

TEST(Pool, SameBitsForAnyNumberOfThreads) {
  PoolShape s{.batch = 2, .in_h = 56, .in_w = 57, .channels = 40, .kernel_h = 3, .kernel_w = 3};
  set_out_size(s, false);
  s.in_pixel_stride = s.out_pixel_stride = s.channels;
  const std::vector<float> input = random_floats(s.batch * s.in_h * s.in_w * s.channels, 2);
  for (const bool nchw : {false, true}) {
    const std::vector<float> once = run(s, PoolKind::average, nchw, input, Parallel());
    for (const int threads : {2, 3, 4, 7}) {
      ThreadPool pool({.threads = threads});
      const std::vector<float> again = run(s, PoolKind::average, nchw, input, Parallel(&pool, nullptr));
      EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0);
    }
  }
}

TEST(GlobalAverage, ChannelsLast) {
  for (const size_t channels : {1, 3, 17, 24, 33, 64, 130}) {
    for (const size_t pixels : {1, 49, 63, 64, 65, 1000}) {
      GlobalAverageArgs args{.batch = 3, .pixels = pixels, .channels = channels};
      args.in_pixel_stride = channels + 1;
      args.out_stride = channels + 5;
      const std::vector<float> input = random_floats(args.batch * pixels * args.in_pixel_stride, 3);
      std::vector<float> want(args.batch * args.out_stride, kGuard), got = want;
      args.input = input.data();
      args.output = want.data();
      global_average_reference(args);
      args.output = got.data();
      for (int level = 0; level <= int(best_isa()); ++level) {
        const ScopedIsa isa{Isa(level)};
        std::fill(got.begin(), got.end(), kGuard);
        global_average_nhwc(args, Parallel());
        expect_same(want, got, 1e-6f, cat("channels {} pixels {}", channels, pixels));
      }
    }
  }
}

TEST(GlobalAverage, ChannelsFirst) {
  for (const size_t pixels : {1, 16, 49, 64, 255, 1000}) {
    constexpr size_t kPlanes = 5;
    const std::vector<float> input = random_floats(kPlanes * pixels, 4);
    std::vector<float> want(kPlanes), got(kPlanes);
    GlobalAverageArgs args{.batch = kPlanes, .pixels = pixels, .input = input.data(), .output = want.data()};
    global_average_reference(args);
    for (int level = 0; level <= int(best_isa()); ++level) {
      const ScopedIsa isa{Isa(level)};
      global_average_nchw(input.data(), kPlanes, pixels, got.data(), Parallel());
      expect_same(want, got, 1e-6f, cat("pixels {}", pixels));
    }
  }
}

TEST(GlobalAverage, SameBitsForAnyNumberOfThreads) {
  GlobalAverageArgs args{.batch = 2, .pixels = 3000, .channels = 150, .in_pixel_stride = 150, .out_stride = 150};
  const std::vector<float> input = random_floats(args.batch * args.pixels * args.channels, 5);
  std::vector<float> once(args.batch * args.channels), again(once.size());
  args.input = input.data();
  args.output = once.data();
  global_average_nhwc(args, Parallel());
  args.output = again.data();
  for (const int threads : {2, 3, 4, 7}) {
    ThreadPool pool({.threads = threads});
    global_average_nhwc(args, Parallel(&pool, nullptr));
    EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace retort::kernels
