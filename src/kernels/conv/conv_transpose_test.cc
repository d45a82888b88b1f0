// Tests transposed convolution against the plain loop, at every instruction level.
#include "kernels/conv/conv_transpose.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/thread_pool.h"
#include "kernels/conv/conv_testing.h"

namespace retort::kernels {
namespace {

constexpr float kGuard = ConvData::kGuard;

struct TransposeData {
  explicit TransposeData(const ConvTransposeShape& s) : shape(s) {
    std::mt19937 random(unsigned(s.in_c * 31 + s.out_c));
    std::normal_distribution<float> normal;
    const auto fill = [&](size_t n) { return testing::drawn(normal, random, n); };
    input = fill(s.batch * s.in_h * s.in_w * s.in_pixel_stride);
    weights = fill(s.in_c * (s.out_c / s.groups) * s.kernel_h * s.kernel_w);
    const size_t group_in = s.in_c / s.groups;
    const float unit = 1 / std::sqrt(float(group_in * s.kernel_h * s.kernel_w));
    for (float& w : weights) w *= unit;
    bias = fill(s.out_c);
    residual = fill(s.batch * s.out_h * s.out_w * s.out_pixel_stride);
  }

  ConvTransposeArgs args(std::vector<float>& output) const {
    output.assign(residual.size() + 64, kGuard);
    Epilogue e{bias.data(), residual.data(), shape.out_pixel_stride, {Activation::Kind::leaky_relu, 0.2f}};
    if (bare) e = {};
    return {shape, input.data(), nullptr, output.data(), e};
  }

  std::vector<float> run(const Parallel& par) const {
    std::vector<float> output;
    ConvTransposeArgs a = args(output);
    Lines packed(conv_transpose_packed_bytes(shape));
    conv_transpose_pack(shape, weights.data(), packed.floats());
    Lines scratch(conv_transpose_scratch_bytes(shape, par.workers()));
    a.packed = packed.floats();
    conv_transpose(a, scratch.floats(), par);
    return output;
  }

  ConvTransposeShape shape;
  bool bare = false;  // without bias, residual and activation
  std::vector<float> input, weights, bias, residual;
};

ConvTransposeShape with_out_size(ConvTransposeShape s, size_t more = 0) {
  s.out_h =
      (s.in_h - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1 - 2 * s.pad_top + (s.stride_h > 1 ? more : 0);
  s.out_w = (s.in_w - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1 - 2 * s.pad_left + more;
  s.in_pixel_stride = s.in_c + 3;
  s.out_pixel_stride = s.out_c + 5;
  return s;
}

void check_transpose(const ConvTransposeShape& s, bool bare = false) {
  TransposeData data(s);
  data.bare = bare;
  std::vector<float> want;
  conv_transpose_reference(data.args(want), data.weights.data());
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    const std::vector<float> got = data.run(Parallel());
    size_t wrong = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      wrong += want[i] == kGuard ? got[i] != kGuard : !(std::fabs(want[i] - got[i]) < 1e-5f);
    }
    EXPECT_EQ(wrong, 0u) << cat("in {}x{}x{} out {}x{}x{} kernel {}x{} stride {}x{} dilation {} pad {},{} groups {} {}",
                                s.in_h, s.in_w, s.in_c, s.out_h, s.out_w, s.out_c, s.kernel_h, s.kernel_w, s.stride_h,
                                s.stride_w, s.dilation_w, s.pad_top, s.pad_left, s.groups, isa_name(current_isa()));
  }
}

TEST(ConvTranspose, KernelsStridesDilations) {
  for (const size_t channels : {1, 3, 17, 24}) {
    for (const size_t kernel : {1, 2, 3, 4}) {
      for (const size_t stride : {1, 2, 3}) {
        for (const size_t dilation : {1, 2, 3}) {
          ConvTransposeShape s{.batch = 2, .in_h = 4, .in_w = 6, .in_c = channels, .out_c = 9};
          s.kernel_h = kernel, s.kernel_w = 3, s.stride_h = stride, s.stride_w = 2;
          s.dilation_h = 1, s.dilation_w = dilation;
          s.pad_top = kernel > 2 ? 1 : 0, s.pad_left = 1;
          check_transpose(with_out_size(s));
          check_transpose(with_out_size(s, 1));
        }
      }
    }
  }
}

TEST(ConvTranspose, OneDimension) {
  ConvTransposeShape s{.in_w = 23, .in_c = 16, .out_c = 8, .kernel_w = 16, .stride_w = 8};
  s.pad_left = 4;
  check_transpose(with_out_size(s));
  s.stride_h = 2;  // with one row, one phase has no rows
  check_transpose(with_out_size(s));
}

// Output rows below and above the reach of an image of one row.
TEST(ConvTranspose, RowsOutsideOneRow) {
  for (const size_t channels : {3, 16}) {
    for (const size_t kernel : {1, 3}) {
      ConvTransposeShape s{.in_w = 100, .in_c = channels, .out_c = 8, .kernel_w = kernel};
      s = with_out_size(s);
      s.out_h = 4;
      check_transpose(s);
      s.in_pixel_stride = s.in_c;
      check_transpose(s);
    }
  }
}

// One product for all taps: kernels smaller than the stride, outputs that nothing reaches, rows in parts.
TEST(ConvTranspose, FewChannels) {
  for (const size_t channels : {1, 2, 3, 4, 5}) {
    for (const size_t kernel : {1, 2, 4, 5}) {
      for (const size_t stride : {1, 2, 3}) {
        ConvTransposeShape s{.batch = 2, .in_h = 19, .in_w = 7, .in_c = 17, .out_c = channels};
        s.kernel_h = kernel, s.kernel_w = 3, s.stride_h = stride, s.stride_w = 2, s.pad_top = kernel / 2,
        s.pad_left = 1;
        check_transpose(with_out_size(s, 1));
        s.kernel_w = s.stride_w, s.pad_left = 0;
        check_transpose(with_out_size(s));
        s = with_out_size(s, 1);
        check_transpose(s);
        ConvTransposeShape line{.batch = 2, .in_w = 1500, .in_c = 19, .out_c = channels, .kernel_w = kernel};
        line.stride_w = stride, line.pad_left = kernel / 2;
        check_transpose(with_out_size(line));
        line.pad_left = 300;  // so that many inputs reach no output
        check_transpose(with_out_size(line));
        line.pad_left = kernel / 2;
        line = with_out_size(line, 4);
        line.in_pixel_stride = line.in_c, line.out_pixel_stride = line.out_c;
        check_transpose(line);
        check_transpose(line, true);
        s.out_pixel_stride = s.out_c;
        check_transpose(s, true);
      }
    }
  }
}

// Without strides: a convolution, of which most taps may be outside.
TEST(ConvTranspose, FromFewPixels) {
  for (const size_t batch : {1, 3, 60}) {
    for (const size_t size : {1, 2}) {
      ConvTransposeShape s{.batch = batch, .in_h = size, .in_w = 1, .in_c = 21, .out_c = 37};
      s.kernel_h = 4, s.kernel_w = 3;
      check_transpose(with_out_size(s));
      s.dilation_h = 2, s.pad_top = 1;
      check_transpose(with_out_size(s));
    }
  }
}

TEST(ConvTranspose, Groups) {
  ConvTransposeShape s{
      .in_h = 5, .in_w = 4, .in_c = 6, .out_c = 9, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2};
  s.groups = 3;
  check_transpose(with_out_size(s));
}

// Vectors of several groups, of one, and of a part of one; dilations take the taps of a phase apart.
TEST(ConvTranspose, GroupsOfFewChannels) {
  for (const size_t groups : {2, 5, 8}) {
    for (const size_t group_in : {1, 3, 4, 8}) {
      for (const size_t group_out : {1, 2, 4, 8, 13, 33}) {
        for (const size_t kernel : {1, 2, 3, 4}) {
          ConvTransposeShape s{.batch = 2, .in_h = 4, .in_w = 9, .in_c = groups * group_in, .groups = groups};
          s.out_c = groups * group_out, s.kernel_h = kernel, s.kernel_w = 4;
          s.stride_h = kernel > 2 ? 1 : 2, s.stride_w = 2, s.pad_top = kernel / 2, s.pad_left = 1;
          s.dilation_w = kernel == 3 ? 3 : 1;
          check_transpose(with_out_size(s));
          s.stride_w = s.stride_h = s.dilation_w = 1;
          check_transpose(with_out_size(s));
        }
      }
    }
  }
}

// Each channel has its own filter; kernels smaller than the stride leave phases without taps.
TEST(ConvTranspose, Depthwise) {
  for (const size_t channels : {2, 16, 19, 40}) {
    for (const size_t kernel : {1, 2, 3, 4, 6}) {
      for (const size_t stride : {1, 2, 3}) {
        for (const size_t dilation : {1, 2}) {
          ConvTransposeShape s{.batch = 2, .in_h = 5, .in_w = 11, .in_c = channels, .out_c = channels};
          s.kernel_h = kernel, s.kernel_w = kernel + 1, s.stride_h = stride, s.stride_w = stride;
          s.dilation_h = dilation, s.dilation_w = dilation, s.groups = channels;
          s.pad_top = kernel > 2 ? 1 : 0, s.pad_left = 1;
          check_transpose(with_out_size(s));
        }
      }
    }
  }
}

TEST(ConvTranspose, EmptyBatch) {
  ConvTransposeShape s{.batch = 0, .in_h = 5, .in_w = 4, .in_c = 6, .out_c = 9, .kernel_h = 3, .kernel_w = 3};
  check_transpose(with_out_size(s));
}

TEST(ConvTranspose, SameBitsForAnyNumberOfThreads) {
  ConvTransposeShape line{.in_w = 200, .in_c = 64, .out_c = 40, .kernel_w = 16, .stride_w = 8, .pad_left = 4};
  ConvTransposeShape map{.batch = 2, .in_h = 9, .in_w = 9, .in_c = 20, .out_c = 12, .kernel_h = 2, .kernel_w = 2};
  map.stride_h = map.stride_w = 2;
  ConvTransposeShape first{.in_c = 100, .out_c = 64, .kernel_h = 4, .kernel_w = 4};
  ConvTransposeShape last{.batch = 2, .in_h = 40, .in_w = 32, .in_c = 64, .out_c = 3, .kernel_h = 4, .kernel_w = 4};
  last.stride_h = last.stride_w = 2, last.pad_top = last.pad_left = 1;
  ConvTransposeShape sound{.in_w = 4000, .in_c = 32, .out_c = 1, .kernel_w = 4, .stride_w = 2};
  ConvTransposeShape groups{.batch = 2, .in_h = 9, .in_w = 31, .in_c = 32, .out_c = 32, .kernel_h = 4, .kernel_w = 4};
  groups.groups = 8, groups.stride_h = groups.stride_w = 2;
  for (const ConvTransposeShape& s : {line, map, first, last, sound, groups}) {
    const TransposeData data(with_out_size(s));
    const std::vector<float> once = data.run(Parallel());
    for (const int threads : {2, 3, 4, 7}) {
      ThreadPool pool({.threads = threads});
      const std::vector<float> again = data.run(Parallel(&pool, nullptr));
      EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0) << threads;
    }
  }
}

}  // namespace
}  // namespace retort::kernels
