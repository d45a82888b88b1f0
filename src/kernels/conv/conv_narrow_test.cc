// Tests convolutions with few outputs, and of images one column wide, at every instruction level.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/conv/conv_plan.h"
#include "kernels/conv/conv_testing.h"
#include "kernels/gemm/gemm.h"

namespace retort::kernels {
namespace {

TEST(ConvNarrow, FewOutputs) {
  for (const size_t in_c : {5, 8, 16, 31}) {
    for (const size_t out_c : {1, 4, 7, 8, 15}) {
      ConvCase c{.in_c = in_c, .out_c = out_c, .in_h = 9, .in_w = 21, .batch = 2, .kernel_h = 3, .kernel_w = 3};
      c.pad_all(1);
      check_conv(c.with(ConvAlgorithm::lines));
      if (out_c <= gemm_panel_width()) {
        EXPECT_EQ(choose_conv(c.shape(), false), ConvAlgorithm::lines);
      }
      c.stride_h = 2;
      check_plain_sums(c);
    }
  }
}

// Rows share the lines that they have copied, and tiles end anywhere.
TEST(ConvNarrow, LinesOfSeveralRows) {
  for (size_t width = 3; width < 72; width += width < 36 ? 1 : 5) {
    for (const size_t out_c : {9, 16, 17, 33}) {
      ConvCase c{.in_c = 3, .out_c = out_c, .in_h = 9, .in_w = width, .batch = 2, .kernel_h = 3, .kernel_w = 3};
      c.pad_all(2), c.input_is_nchw = width % 2 == 0, c.algorithm = ConvAlgorithm::lines;
      check_conv(c);
      c.stride_h = 1 + width % 4, c.dilation_h = 1 + width % 3 / 2, c.stride_w = 2;
      check_conv(c);
    }
  }
}

// Sums of few outputs are dot products of runs, whose last vector reaches into other pixels.
TEST(ConvNarrow, DotProducts) {
  for (const size_t in_c : {1, 3, 40, 67}) {
    for (const size_t out_c : {1, 2, 3, 4}) {
      ConvCase c{.in_c = in_c, .out_c = out_c, .in_h = 6, .in_w = 19, .batch = 2, .kernel_h = 3, .kernel_w = 5};
      c.pad_all(2);
      c.algorithm = ConvAlgorithm::lines;
      if (in_c >= 40 && out_c <= 2) {  // at every level
        EXPECT_TRUE(conv_detail::plan_lines(c.shape()).dots) << c.name();
        EXPECT_EQ(choose_conv(c.shape(), false), ConvAlgorithm::lines) << c.name();
      }
      check_conv(c);
      c.activation.kind = Activation::Kind::silu;
      c.residual = Residual::in_place;
      check_conv(c);
      c.poison = std::numeric_limits<float>::quiet_NaN();
      c.activation.kind = Activation::Kind::relu;
      c.stride_w = 2;
      check_conv(c);
    }
  }
  ConvCase one{.in_c = 1, .out_c = 1, .in_w = 700, .kernel_w = 256};
  one.algorithm = ConvAlgorithm::lines;
  EXPECT_TRUE(conv_detail::plan_lines(one.shape()).dots);
  check_conv(one);
}

// The same data, the same packed weights, the same sums.
TEST(ConvNarrow, AColumnIsALaidDownLine) {
  for (const size_t groups : {size_t(1), size_t(2), size_t(6)}) {
    ConvCase column{.in_c = 6, .out_c = 6, .in_h = 40, .batch = 2, .kernel_h = 5, .stride_h = 2, .dilation_h = 3};
    column.pad_top = 4, column.pad_bottom = 7, column.groups = groups;
    ConvCase line{.in_c = 6, .out_c = 6, .in_w = 40, .batch = 2, .kernel_w = 5, .stride_w = 2, .dilation_w = 3};
    line.pad_left = 4, line.pad_right = 7, line.groups = groups;
    EXPECT_EQ(lay_down(column.shape()), line.shape());
    EXPECT_EQ(lay_down(line.shape()), line.shape());
    const ConvData down(line);
    EXPECT_EQ(ConvData(column).reference(), down.reference());
    for (const ConvAlgorithm a : {ConvAlgorithm::rows, ConvAlgorithm::depthwise}) {
      if ((a == ConvAlgorithm::depthwise) != (groups == 6)) continue;
      const size_t floats = conv_packed_bytes(line.shape(), a) / sizeof(float);
      std::vector<float> weights(6 * 6 * 5);
      std::iota(weights.begin(), weights.end(), 1.0f);
      Lines of_column(floats * sizeof(float)), of_line(floats * sizeof(float));
      conv_pack(column.shape(), a, weights.data(), of_column.floats());
      conv_pack(line.shape(), a, weights.data(), of_line.floats());
      EXPECT_TRUE(std::equal(of_line.floats(), of_line.floats() + floats, of_column.floats()));
    }
  }
  for (const size_t pad : {0, 1}) {  // two outputs side by side, or a kernel of two columns: not a line
    ConvCase wide{.in_c = 3, .out_c = 4, .in_h = 9, .in_w = 2 - pad, .kernel_h = 3, .kernel_w = 2 - pad};
    wide.pad_right = pad;
    EXPECT_EQ(lay_down(wide.shape()), wide.shape());
  }
}

}  // namespace
}  // namespace retort::kernels
