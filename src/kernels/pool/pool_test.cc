// Tests pooling against the plain loops, at every instruction level.
#include "kernels/pool/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  for (PoolAxis* a : {&s.depth, &s.height, &s.width}) {
    a->out = (a->padded() - a->reach() + (ceiling ? a->stride - 1 : 0)) / a->stride + 1;
  }
}

std::vector<float> run(const PoolShape& s, PoolKind kind, bool nchw, const std::vector<float>& input,
                       const Parallel& par) {
  std::vector<float> output(s.batch * s.depth.out * s.height.out * s.width.out * s.out_pixel_stride + 32, kGuard);
  const PoolArgs args{s, kind, input.data(), output.data()};
  nchw ? pool_nchw(args, par) : pool_nhwc(args, par);
  return output;
}

// Tests every kind, both layouts, every level; `poison`, if not 0, is put into the middle of the input.
void check_pool(PoolShape s, bool ceiling = false, float poison = 0) {
  set_out_size(s, ceiling);
  s.in_pixel_stride = s.channels + 3;
  s.out_pixel_stride = s.channels + 2;
  std::vector<float> input = random_floats(s.batch * s.depth.in * s.height.in * s.width.in * s.in_pixel_stride, 1);
  if (poison != 0 && !input.empty()) input[s.height.in * s.width.in / 2 * s.in_pixel_stride] = poison;
  for (const PoolKind kind : kKinds) {
    for (const bool nchw : {false, true}) {
      if (!nchw && s.depth.padded() > 1) continue;
      std::vector<float> want(s.batch * s.depth.out * s.height.out * s.width.out * s.out_pixel_stride + 32, kGuard);
      pool_reference({s, kind, input.data(), want.data()}, nchw);
      for (int level = 0; level <= int(best_isa()); ++level) {
        const ScopedIsa isa{Isa(level)};
        expect_same(want, run(s, kind, nchw, input, Parallel()), kind == PoolKind::max ? 0 : 1e-6f,
                    cat("kind {} nchw {} channels {} in {}x{} kernel {}x{} stride {}", int(kind), nchw, s.channels,
                        s.height.in, s.width.in, s.height.kernel, s.width.kernel, s.width.stride));
      }
    }
  }
}

TEST(Pool, KernelsStridesChannels) {
  for (const size_t channels : {1, 3, 17, 24, 33, 64, 100}) {
    for (const size_t kernel : {1, 2, 3, 5}) {
      for (const size_t stride : {1, 2, 3, 4}) {
        PoolShape s{.batch = 2,
                    .channels = channels,
                    .height = {.in = 9, .kernel = kernel},
                    .width = {.in = 41, .kernel = kernel}};
        s.height.stride = s.width.stride = stride;
        s.height.pad_begin = s.width.pad_begin = kernel / 2;
        s.height.pad_end = s.width.pad_end = (kernel - 1) / 2;
        check_pool(s);
        check_pool(s, true);
      }
    }
  }
}

TEST(Pool, DilationAndUnevenPadding) {
  PoolShape s{.batch = 1, .channels = 5};
  s.height = {.in = 11, .kernel = 3, .dilation = 2, .pad_begin = 2, .pad_end = 1};
  s.width = {.in = 50, .kernel = 2, .dilation = 3, .pad_begin = 1};
  check_pool(s);
  s.width.stride = 2;
  check_pool(s, true);
}

TEST(Pool, ThreeDimensions) {
  for (const size_t kernel : {1, 2, 3}) {
    for (const size_t width : {2, 9, 40}) {
      PoolShape s{.batch = 2, .channels = 3};
      s.height = {.in = 5, .kernel = 2, .pad_begin = 1};
      s.width = {.in = width, .kernel = 2, .stride = 2, .pad_end = 1};
      s.depth = {.in = 6, .kernel = kernel, .stride = 2, .dilation = 2, .pad_begin = kernel - 1, .pad_end = kernel - 1};
      check_pool(s);
      check_pool(s, true, std::nanf(""));
    }
  }
}

TEST(Pool, OneDimension) {
  PoolShape s{.batch = 2, .channels = 20, .width = {.in = 77, .kernel = 4, .stride = 2}};
  check_pool(s);
}

TEST(Pool, Columns) {
  for (const size_t stride : {1, 2}) {
    PoolShape s{.batch = 2, .channels = 5};
    s.height = {.in = 41, .kernel = 3, .stride = stride, .pad_begin = 1, .pad_end = 2};
    check_pool(s);
    check_pool(s, true);
    s.width.in = 2;
    check_pool(s);
  }
}

// Rows that end in every place of one or two vectors, and axes of one element between padding.
TEST(Pool, EveryWidth) {
  for (size_t width = 1; width <= 70; ++width) {
    for (const size_t stride : {1, 2, 4}) {
      PoolShape s{.batch = 1, .channels = 2, .height = {.in = 3, .kernel = 3, .pad_begin = 1, .pad_end = 1}};
      s.width = {.in = width, .kernel = 4, .stride = stride, .pad_begin = 2, .pad_end = 1};
      check_pool(s);
    }
  }
}

// Planes that are pooled 16 at a time, in one or more strips, and the same alone.
TEST(Pool, SmallPlanes) {
  constexpr size_t kSizes[][2] = {{1, 1}, {4, 4}, {7, 7}, {14, 13}, {27, 28}, {5, 61}, {70, 9}, {20, 66}};
  for (const auto& [height, width] : kSizes) {
    for (const size_t kernel : {1, 2, 3, 5}) {
      for (const size_t stride : {1, 2, 3}) {
        PoolShape s{.batch = 1, .channels = 37, .height = {.in = height, .kernel = kernel}};
        s.height.stride = stride;
        s.height.pad_begin = s.height.pad_end = kernel / 2;
        s.width = {.in = width, .kernel = kernel, .stride = stride, .pad_begin = kernel - 1, .pad_end = kernel};
        check_pool(s, kernel == 2);
        if (height > 9) s.height.dilation = s.width.dilation = 2, check_pool(s, true, std::nanf(""));
        set_out_size(s, false);
        s.out_pixel_stride = s.channels;
        PoolShape one = s;
        one.channels = one.out_pixel_stride = 1;
        const size_t in = height * width, out = s.height.out * s.width.out;
        std::vector<float> input = random_floats(37 * in, 7);
        std::copy_n(input.begin(), 5 * in, input.begin() + 32 * in);
        for (const PoolKind kind : kKinds) {
          const std::vector<float> all = run(s, kind, true, input, Parallel());
          for (const size_t c : {0, 15, 16, 36}) {
            const std::vector<float> image(input.begin() + c * in, input.begin() + (c + 1) * in);
            const std::vector<float> alone = run(one, kind, true, image, Parallel());
            const float tolerance = s.width.out < 3 ? 1e-6f : 0;  // few pixels alone are summed in another order
            const auto equal = [&](float a, float b) { return same(a, b, tolerance); };
            EXPECT_TRUE(std::equal(&alone[0], &alone[0] + out, &all[c * out], equal))
                << height << "x" << width << " " << c;
          }
          EXPECT_TRUE(std::equal(&all[0], &all[0] + 5 * out, &all[32 * out])) << height << "x" << width;
        }
      }
    }
  }
}

TEST(Pool, NotFiniteInSmallPlanes) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const size_t channels : {16, 18, 40}) {
    PoolShape s{.batch = 1, .channels = channels, .height = {.in = 9, .kernel = 3}, .width = {.in = 8, .kernel = 3}};
    s.height.pad_begin = s.width.pad_end = 1;
    for (const float poison : {std::numeric_limits<float>::quiet_NaN(), inf, -inf}) check_pool(s, false, poison);
  }
}

TEST(Pool, DepthOfOneBetweenPadding) {
  PoolShape s{.batch = 1, .channels = 2, .height = {.in = 5, .kernel = 2}, .width = {.in = 9, .kernel = 2}};
  s.depth = {.in = 1, .kernel = 1, .pad_begin = 1, .pad_end = 1};
  check_pool(s);
  s.depth.stride = 3;
  check_pool(s);
}

// Lines that are pooled in parts, and windows wider than a part.
TEST(Pool, LongLines) {
  for (const size_t kernel : {3, 2100}) {
    for (const size_t stride : {1, 3}) {
      PoolShape s{.batch = 1, .channels = 1, .height = {.in = 2, .kernel = 2}};
      s.width = {.in = 2401, .kernel = kernel, .stride = stride, .pad_begin = kernel / 2, .pad_end = kernel / 2};
      check_pool(s);
    }
  }
}

TEST(Pool, WindowsOutsideTheImage) {
  PoolShape s{.batch = 1, .channels = 3};
  s.height = s.width = {.in = 2, .kernel = 2, .pad_begin = 4, .pad_end = 4};
  check_pool(s);
}

TEST(Pool, NotFinite) {
  PoolShape s{.batch = 1, .channels = 18, .height = {.in = 7, .kernel = 3}, .width = {.in = 40, .kernel = 3}};
  const float inf = std::numeric_limits<float>::infinity();
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), inf, -inf}) check_pool(s, false, poison);
}

TEST(Pool, EmptyBatch) {
  PoolShape s{.batch = 0, .channels = 18, .height = {.in = 7, .kernel = 3}, .width = {.in = 8, .kernel = 3}};
  check_pool(s);
}

void check_threads(PoolShape s) {
  set_out_size(s, false);
  s.in_pixel_stride = s.out_pixel_stride = s.channels;
  const std::vector<float> input = random_floats(s.batch * s.height.in * s.width.in * s.channels, 2);
  for (const bool nchw : {false, true}) {
    const std::vector<float> once = run(s, PoolKind::average, nchw, input, Parallel());
    for (const int threads : {2, 3, 4, 7}) {
      ThreadPool pool({.threads = threads});
      const std::vector<float> again = run(s, PoolKind::average, nchw, input, Parallel(&pool, nullptr));
      EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0);
    }
  }
}

TEST(Pool, SameBitsForAnyNumberOfThreads) {
  check_threads({.batch = 2, .channels = 40, .height = {.in = 56, .kernel = 3}, .width = {.in = 57, .kernel = 3}});
  check_threads({.batch = 3, .channels = 250, .height = {.in = 20, .kernel = 3}, .width = {.in = 21, .kernel = 3}});
}

void global_average(const GlobalAverageArgs& args, const Parallel& par) {
  const size_t bytes = global_average_scratch_bytes(args.batch, args.pixels, args.channels);
  std::vector<float> scratch(bytes / sizeof(float));
  global_average_nhwc(args, scratch.data(), par);
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
        global_average(args, Parallel());
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
  for (const size_t pixels : {49, 196, 3000}) {
    GlobalAverageArgs args{.batch = 2, .pixels = pixels, .channels = 670, .in_pixel_stride = 670, .out_stride = 670};
    const std::vector<float> input = random_floats(args.batch * args.pixels * args.channels, 5);
    std::vector<float> once(args.batch * args.channels), again(once.size());
    args.input = input.data();
    args.output = once.data();
    global_average(args, Parallel());
    args.output = again.data();
    for (const int threads : {2, 3, 4, 7}) {
      ThreadPool pool({.threads = threads});
      global_average(args, Parallel(&pool, nullptr));
      EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0);
    }
  }
}

// Sums of blocks of pixels have no more error than one sum, and an infinity stays in its channel.
TEST(GlobalAverage, BlocksOfPixels) {
  GlobalAverageArgs args{.batch = 1, .pixels = 196, .channels = 700, .in_pixel_stride = 700, .out_stride = 700};
  ASSERT_GT(global_average_scratch_bytes(1, 196, 700), 0u);
  ASSERT_EQ(global_average_scratch_bytes(1, 49, 1152), 0u);  // divided by channels
  std::vector<float> input = random_floats(args.pixels * args.channels, 6), want(700), got(700);
  input[150 * 700 + 13] = std::numeric_limits<float>::infinity();
  args.input = input.data();
  args.output = want.data();
  global_average_reference(args);
  args.output = got.data();
  global_average(args, Parallel());
  expect_same(want, got, 1e-6f, "blocks of pixels");
}

}  // namespace
}  // namespace retort::kernels
