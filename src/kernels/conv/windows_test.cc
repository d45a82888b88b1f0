// Tests convolution by ConvAlgorithm::windows against the plain loop, at every instruction level that has it.
#include "kernels/conv/windows.h"

#include <limits>

#include "kernels/conv/conv_testing.h"

namespace retort::kernels {
namespace {

ConvCase windows_case(size_t in_c, size_t out_c, size_t in_h, size_t in_w, size_t kernel, size_t stride) {
  ConvCase c{.in_c = in_c, .out_c = out_c, .in_h = in_h, .in_w = in_w};
  c.kernel_h = c.kernel_w = kernel, c.stride_h = c.stride_w = stride;
  c.pad_all(kernel / 2);
  return c.with(ConvAlgorithm::windows);
}

/// Compares at the levels at which the shape suits windows, and tells whether there is one.
bool check_windows(const ConvCase& c) {
  const ConvData data(c);
  const std::vector<float> want = data.reference();
  float largest = 1;
  for (const float w : want) {
    if (w != ConvData::kGuard && std::isfinite(w)) largest = std::max(largest, std::fabs(w));
  }
  bool any = false;
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    if (!conv_detail::suits_windows(c.shape())) continue;
    any = true;
    EXPECT_EQ(differing(want, data.run(Parallel()), largest * 2e-6f, false), 0u) << c.name();
  }
  return any;
}

bool has_windows() { return best_isa() != Isa::v2; }

// Panels that are full, and those of each number of vectors and half vectors.
TEST(ConvWindows, Channels) {
  for (const size_t in_c : {1, 3, 4, 8, 17, 33}) {
    for (const size_t out_c : {1, 8, 13, 16, 24, 31, 32, 40, 65})
      EXPECT_EQ(check_windows(windows_case(in_c, out_c, 5, 9, 3, 2)), has_windows());
  }
}

TEST(ConvWindows, Groups) {
  for (const size_t groups : {2, 3}) {
    for (const size_t group_in : {1, 5, 16, 24}) {
      for (const size_t group_out : {1, 12, 16, 24, 48}) {
        ConvCase c = windows_case(groups * group_in, groups * group_out, 6, 15, 3, 1);
        c.groups = groups, c.batch = 2;
        EXPECT_EQ(check_windows(c), has_windows());
      }
    }
  }
}

TEST(ConvWindows, KernelsStridesDilations) {
  for (const size_t kernel_h : {1, 2, 3, 5}) {
    for (const size_t kernel_w : {1, 3, 4}) {
      for (const size_t stride : {1, 2, 3}) {
        for (const size_t dilation : {1, 2, 3}) {
          ConvCase c = windows_case(6, 18, 11, 17, 1, 1);
          c.kernel_h = kernel_h, c.kernel_w = kernel_w, c.pad_top = 4, c.pad_left = 3, c.pad_right = 5;
          c.stride_h = stride, c.stride_w = 4 - stride, c.dilation_h = dilation;
          EXPECT_EQ(check_windows(c), has_windows());
          c.dilation_w = 2;
          EXPECT_EQ(check_windows(c), has_windows() && kernel_w == 1);
        }
      }
    }
  }
}

// Every number of pixels of a tile, and lines of several tiles; images in one block and in several.
TEST(ConvWindows, Sizes) {
  for (size_t width = 7; width <= 64; width += width < 30 ? 1 : 11) {
    for (const size_t height : {1, 2, 31}) {
      for (const size_t stride : {1, 2}) {
        ConvCase c = windows_case(5, 33, height, width, 3, stride);
        c.batch = 2;
        EXPECT_EQ(check_windows(c), has_windows());
      }
    }
  }
}

// The sum is taken in several blocks of runs, and runs are longer than a block.
TEST(ConvWindows, LongSums) {
  for (const size_t in_c : {48, 130, 400}) {
    for (const size_t groups : {1, 2}) {
      ConvCase c = windows_case(in_c, 66, 9, 13, 5, 1);
      c.groups = groups;
      EXPECT_EQ(check_windows(c), has_windows());
    }
  }
}

// Without padding, pixels stay in place.
TEST(ConvWindows, InPlace) {
  for (const size_t kernel : {1, 2, 3}) {
    for (const size_t gap : {0, 3}) {
      for (const size_t groups : {1, 2}) {
        ConvCase c = windows_case(6, 20, 12, 19, kernel, 2);
        c.pad_all(0);
        c.in_gap = gap, c.groups = groups, c.batch = 2;
        EXPECT_EQ(check_windows(c), has_windows());
        const bool in_place = kernel == 1 || (gap == 0 && groups == 1);
        EXPECT_EQ(conv_detail::plan_windows(c.shape()).in_place, in_place);
        c.pad_bottom = c.pad_right = 1;  // taps of the last pixels are outside
        EXPECT_EQ(check_windows(c), has_windows());
      }
    }
  }
}

// Gaps between pixels are neither added nor written; the residual may be the output itself.
TEST(ConvWindows, GapsAndResiduals) {
  for (const size_t groups : {1, 4}) {
    for (const Residual residual : {Residual::none, Residual::separate, Residual::in_place}) {
      for (const auto kind : {Activation::Kind::none, Activation::Kind::relu, Activation::Kind::silu}) {
        ConvCase c = windows_case(12, 36, 9, 17, 3, 2);
        c.groups = groups, c.residual = residual, c.activation.kind = kind, c.bias = residual == Residual::none;
        c.in_gap = 3, c.out_gap = 5;
        EXPECT_EQ(check_windows(c), has_windows());
      }
    }
  }
}

// A NaN reaches exactly the outputs that it is part of.
TEST(ConvWindows, NotFinite) {
  for (const size_t groups : {1, 3}) {
    ConvCase c = windows_case(12, 30, 8, 15, 3, 1);
    c.groups = groups, c.poison = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(check_windows(c), has_windows());
  }
}

TEST(ConvWindows, SameBitsForAnyNumberOfThreads) {
  for (int level = int(Isa::avx2); level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    check_threads(windows_case(16, 72, 40, 61, 3, 2));
    ConvCase groups = windows_case(48, 96, 14, 14, 3, 1);
    groups.groups = 3, groups.batch = 2;
    check_threads(groups);
  }
}

// Where images are small and columns many, gathered rows are as fast. Extents that are unknown, or zero, have no plan.
TEST(ConvWindows, Chosen) {
  for (int level = int(Isa::v2); level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    const auto choose = [](const ConvCase& c) { return choose_conv(c.shape(), false); };
    const bool narrow = current_isa() == Isa::v2;
    const auto windows = narrow ? ConvAlgorithm::rows : ConvAlgorithm::windows;
    EXPECT_EQ(choose(windows_case(16, 32, 160, 160, 3, 2)), windows);
    EXPECT_EQ(choose(windows_case(64, 64, 56, 56, 5, 1)), windows);
    EXPECT_EQ(choose(windows_case(64, 600, 28, 28, 3, 2)), ConvAlgorithm::rows);
    EXPECT_EQ(choose(windows_case(64, 64, 5, 5, 3, 2)), ConvAlgorithm::rows);
    EXPECT_EQ(choose(windows_case(16, 32, 112, 112, 1, 2)), narrow ? ConvAlgorithm::pointwise : ConvAlgorithm::windows);
    ConvCase groups = windows_case(512, 512, 14, 14, 3, 1);
    groups.groups = 32;
    EXPECT_EQ(choose(groups), current_isa() == Isa::avx2 ? ConvAlgorithm::windows : ConvAlgorithm::groups);
    groups.groups = 16;
    EXPECT_EQ(choose(groups), narrow ? ConvAlgorithm::grouped : ConvAlgorithm::windows);
    ConvShape unknown = windows_case(16, 32, 8, 8, 3, 2).shape();
    unknown.in_h = unknown.in_w = unknown.out_h = unknown.out_w = 0;
    EXPECT_EQ(choose_conv(unknown, false), ConvAlgorithm::rows);
  }
}

}  // namespace
}  // namespace retort::kernels
