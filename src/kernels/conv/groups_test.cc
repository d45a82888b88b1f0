// Tests convolution of groups of few channels against the plain loop, at every instruction level.
#include "kernels/conv/groups.h"

#include <limits>

#include "kernels/conv/conv_testing.h"

namespace retort::kernels {
namespace {

ConvCase groups_case(size_t groups, size_t group_in, size_t group_out, size_t in_h, size_t in_w, size_t kernel) {
  ConvCase c{.in_c = groups * group_in, .out_c = groups * group_out, .in_h = in_h, .in_w = in_w};
  c.kernel_h = c.kernel_w = kernel, c.groups = groups;
  c.pad_all(kernel / 2);
  return c.with(ConvAlgorithm::groups);
}

// Vectors of many groups, of a few, with lanes to spare, and groups of several vectors.
TEST(ConvGroups, Channels) {
  for (const size_t groups : {2, 3, 5, 9, 32}) {
    for (const size_t group_in : {1, 2, 3, 4, 5, 8, 11, 16, 19}) {
      for (const size_t group_out : {1, 2, 4, 6, 8, 13, 16, 24, 33})
        check_conv(groups_case(groups, group_in, group_out, 4, 9, 3));
    }
  }
}

TEST(ConvGroups, KernelsStridesDilations) {
  for (const size_t group : {2, 4, 12}) {
    for (const size_t kernel_h : {1, 2, 3, 5}) {
      for (const size_t kernel_w : {1, 3, 4}) {
        for (const size_t stride : {1, 2, 3}) {
          for (const size_t dilation : {1, 2, 3}) {
            ConvCase c = groups_case(5, group, group, 11, 17, 1);
            c.kernel_h = kernel_h, c.kernel_w = kernel_w, c.pad_bottom = c.pad_top = 4, c.pad_left = 3, c.pad_right = 5;
            c.stride_h = stride, c.stride_w = 4 - stride, c.dilation_h = dilation, c.dilation_w = 4 - dilation;
            check_conv(c);
            c.dilation_w = 1;
            check_conv(c);
          }
        }
      }
    }
  }
}

TEST(ConvGroups, Sizes) {
  for (const size_t height : {1, 2, 3, 6, 15}) {
    for (const size_t width : {1, 2, 6, 7, 8, 13, 14, 15, 22, 29}) {
      for (const size_t group : {4, 16}) {
        ConvCase c = groups_case(4, group, group, height, width, 3);
        c.batch = 2;
        check_conv(c);
      }
    }
  }
}

// Lines so long that a task has a part of them.
TEST(ConvGroups, LongLines) {
  for (const size_t group : {4, 24}) {
    ConvCase c = groups_case(3, group, group, 1, 5000, 1);
    c.kernel_w = 5, c.pad_left = 2;
    check_conv(c);
    c.in_h = 3, c.kernel_h = 2, c.stride_w = 2;
    check_conv(c);
  }
}

// Gaps between pixels are neither added nor written; the residual may be the output itself.
TEST(ConvGroups, GapsAndResiduals) {
  for (const size_t group : {1, 4, 6, 16, 20}) {
    for (const Residual residual : {Residual::none, Residual::separate, Residual::in_place}) {
      for (const auto kind : {Activation::Kind::none, Activation::Kind::relu, Activation::Kind::silu}) {
        ConvCase c = groups_case(7, group, 2 * group, 9, 17, 3);
        c.residual = residual, c.activation.kind = kind, c.stride_h = c.stride_w = 2,
        c.bias = residual == Residual::none;
        c.in_gap = 3, c.out_gap = 5;
        check_conv(c);
      }
    }
  }
}

// A NaN reaches exactly the outputs of its group that it is part of.
TEST(ConvGroups, NotFinite) {
  for (const size_t group : {2, 4, 5, 8, 16, 18}) {
    ConvCase c = groups_case(6, group, group, 8, 15, 3);
    c.poison = std::numeric_limits<float>::quiet_NaN();
    check_conv(c);
  }
}

TEST(ConvGroups, SameBitsForAnyNumberOfThreads) {
  for (const size_t group : {4, 12, 16}) {
    check_threads(groups_case(9, group, group, 40, 61, 3));
  }
}

TEST(ConvGroups, Chosen) {
  EXPECT_EQ(choose_conv(groups_case(32, 4, 4, 56, 56, 3).shape(), true), ConvAlgorithm::groups);
  EXPECT_EQ(choose_conv(groups_case(2, 48, 600, 27, 27, 5).shape(), false), ConvAlgorithm::grouped);
  ConvCase scaled = groups_case(32, 4, 4, 56, 56, 3);
  scaled.scaled_input = true;
  EXPECT_EQ(choose_conv(scaled.shape(), false), ConvAlgorithm::grouped);
  check_conv(scaled.with(ConvAlgorithm::grouped));
}

}  // namespace
}  // namespace retort::kernels
