// Tests depthwise convolution against the plain loop, at every instruction level.
#include <limits>

#include "kernels/conv/conv_testing.h"

namespace retort::kernels {
namespace {

ConvCase depthwise_case(size_t channels, size_t in_h, size_t in_w, size_t kernel_h, size_t kernel_w) {
  ConvCase c{.in_c = channels, .out_c = channels, .in_h = in_h, .in_w = in_w};
  c.kernel_h = kernel_h, c.kernel_w = kernel_w, c.groups = channels;
  return c.with(ConvAlgorithm::depthwise);
}

TEST(Depthwise, KernelsAndStrides) {
  for (const size_t channels : {1, 3, 16, 17, 24, 33, 64}) {
    for (const size_t kernel : {1, 2, 3, 5, 7, 9}) {
      for (const size_t stride : {1, 2, 3}) {
        ConvCase c = depthwise_case(channels, 11, 25, kernel, kernel);
        c.stride_h = c.stride_w = stride;
        c.pad_all(kernel / 2);
        check_conv(c);
      }
    }
  }
}

TEST(Depthwise, Widths) {
  for (size_t width = 1; width < 32; ++width) {
    ConvCase c = depthwise_case(20, 4, width, 3, 3);
    c.batch = 2;
    c.pad_all(1);
    check_conv(c);
    c.kernel_h = c.kernel_w = 5;
    c.stride_h = c.stride_w = 2;
    c.pad_all(2);
    check_conv(c);
  }
}

// Pairs of output rows and a single last one; kernel rows that are outside for one row of a pair, for both, or for all.
TEST(Depthwise, Heights) {
  for (size_t height = 1; height < 9; ++height) {
    for (const size_t pad : {0, 1, 2, 4, 8}) {
      for (const size_t kernel : {1, 3, 5}) {
        ConvCase c = depthwise_case(19, height, 15, kernel, 3);
        c.pad_top = pad, c.pad_bottom = 2 * kernel, c.pad_left = 2, c.batch = 2;
        check_conv(c);
        c.stride_h = 2;
        check_conv(c);
        c.stride_h = 1, c.dilation_h = 2;
        check_conv(c);
      }
    }
  }
}

// Kernels that are not square, among them taller ones than the copies of the last channels have rows.
TEST(Depthwise, ShapesOfKernels) {
  for (const size_t channels : {5, 16, 22, 44}) {
    for (const size_t kernel_h : {1, 2, 8, 9, 12}) {
      for (const size_t kernel_w : {1, 3, 5, 7, 8}) {
        ConvCase c = depthwise_case(channels, 13, 16, kernel_h, kernel_w);
        c.pad_top = kernel_h / 2, c.pad_right = kernel_w - 1;
        check_conv(c);
        c.stride_w = 2;
        check_conv(c);
        c.stride_w = 1, c.dilation_w = 2, c.pad_left = 5;
        check_conv(c);
      }
    }
  }
}

// Long lines with long kernels, as in models of speech; NaN reaches no output of another channel.
TEST(Depthwise, LongKernels) {
  for (const size_t channels : {5, 16, 40}) {
    for (const size_t kernel : {4, 15, 31}) {
      for (const size_t stride : {1, 2, 3}) {
        for (const size_t dilation : {1, 2}) {
          ConvCase c = depthwise_case(channels, 1, 61, 1, kernel);
          c.pad_left = kernel / 2 * dilation, c.pad_right = kernel, c.stride_w = stride, c.dilation_w = dilation;
          check_conv(c);
          c.poison = std::numeric_limits<float>::quiet_NaN();
          check_conv(c);
        }
      }
    }
  }
}

// Columns that are a dilation apart are convolved together: phases without inputs, without padding, and of one output.
TEST(Depthwise, Dilations) {
  for (const size_t dilation : {2, 3, 12}) {
    for (size_t width = 1; width < 40; width += 3) {
      for (const size_t kernel : {3, 4, 5}) {
        for (const size_t before : {size_t(0), size_t(1), dilation, 2 * dilation + 1}) {
          ConvCase c = depthwise_case(23, 5, width, 3, kernel);
          c.batch = 2, c.dilation_h = c.dilation_w = dilation, c.pad_top = c.pad_bottom = dilation;
          c.pad_left = before, c.pad_right = (kernel - 1) * dilation, c.in_gap = 2, c.out_gap = 1;
          c.residual = width % 2 == 0 ? Residual::in_place : Residual::separate;
          c.activation.kind = kernel == 4 ? Activation::Kind::silu : Activation::Kind::relu;
          check_conv(c);
        }
      }
    }
  }
  ConvCase c = depthwise_case(130, 13, 33, 3, 3);
  c.dilation_h = c.dilation_w = 2;
  c.pad_all(2);
  check_threads(c);
  c.poison = std::numeric_limits<float>::quiet_NaN();
  check_conv(c);
}

// Gaps between pixels are neither added nor written; the residual may be the output itself.
TEST(Depthwise, GapsAndResiduals) {
  for (const size_t channels : {7, 16, 40, 51}) {
    for (const Residual residual : {Residual::none, Residual::separate, Residual::in_place}) {
      for (const auto kind : {Activation::Kind::none, Activation::Kind::relu, Activation::Kind::silu}) {
        for (const size_t stride : {1, 2}) {
          ConvCase c = depthwise_case(channels, 9, 17, 3, 3);
          c.residual = residual, c.activation.kind = kind, c.stride_h = c.stride_w = stride;
          c.in_gap = 3, c.out_gap = 5;
          c.pad_all(1);
          check_conv(c);
        }
      }
    }
  }
}

// Several blocks of channels in a task, the last one narrow, give the same bits for any number of threads.
TEST(Depthwise, BlocksOfChannels) {
  for (const size_t kernel : {3, 5, 7}) {
    ConvCase c = depthwise_case(195, 21, 33, kernel, kernel);
    c.pad_all(kernel / 2);
    c.activation.kind = Activation::Kind::silu;
    check_conv(c);
    check_threads(c);
  }
}

// An infinite input reaches exactly the outputs that it is part of.
TEST(Depthwise, NotFinite) {
  for (const size_t stride : {1, 2}) {
    ConvCase c = depthwise_case(24, 8, 15, 3, 3);
    c.stride_h = c.stride_w = stride;
    c.pad_all(1);
    c.poison = std::numeric_limits<float>::quiet_NaN();
    check_conv(c);
  }
}

}  // namespace
}  // namespace retort::kernels
