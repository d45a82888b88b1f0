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
  ConvCase one{.in_c = 1, .out_c = 1, .in_w = 700, .kernel_w = 256, .stride_w = 2};
  one.algorithm = ConvAlgorithm::lines;
  EXPECT_TRUE(conv_detail::plan_lines(one.shape()).dots);
  check_conv(one);
}

// Few outputs of one channel, or of planes: lines that end anywhere in a vector, with dilation.
TEST(ConvNarrow, PixelsInLanes) {
  for (const size_t in_c : {1, 3}) {
    for (const size_t out_c : {1, 2, 4}) {
      for (size_t width = 5; width < 150; width += width < 36 ? 1 : 13) {
        ConvCase c{.in_c = in_c, .out_c = out_c, .in_h = 6, .in_w = width, .batch = 2, .kernel_h = 3, .kernel_w = 3};
        c.pad_all(2), c.input_is_nchw = in_c > 1, c.algorithm = ConvAlgorithm::lines;
        EXPECT_TRUE(conv_detail::plan_lines(c.shape()).pixels) << c.name();
        EXPECT_EQ(choose_conv(c.shape(), true), ConvAlgorithm::lines) << c.name();
        check_conv(c);
        c.dilation_w = 2, c.stride_h = 2, c.pad_left = width % 4;
        c.activation.kind = width % 2 == 0 ? Activation::Kind::silu : Activation::Kind::relu;
        c.residual = Residual::in_place;
        check_conv(c);
        c.poison = std::numeric_limits<float>::quiet_NaN();
        check_conv(c);
      }
    }
  }
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

// [out_c, in_c, kernel_h, kernel_w] as the weights of the folded kernel, [out_c, kernel_w · in_c, kernel_h].
std::vector<float> folded_weights(const std::vector<float>& w, const ConvShape& s) {
  std::vector<float> folded;
  for (size_t o = 0; o < s.out_c; ++o) {
    for (size_t x = 0; x < s.kernel_w; ++x) {
      for (size_t c = 0; c < s.in_c; ++c) {
        for (size_t y = 0; y < s.kernel_h; ++y)
          folded.push_back(w[((o * s.in_c + c) * s.kernel_h + y) * s.kernel_w + x]);
      }
    }
  }
  return folded;
}

TEST(ConvNarrow, AnImageAsWideAsTheKernelIsALine) {
  for (const size_t channels : {1, 3}) {
    for (const bool nchw : {false, true}) {
      ConvCase image{.in_c = channels, .out_c = 19, .in_h = 23, .in_w = 7, .batch = 2, .kernel_h = 4, .kernel_w = 7};
      image.stride_h = 2, image.dilation_h = 2, image.pad_top = 3, image.pad_bottom = 2, image.input_is_nchw = nchw;
      ConvCase line{.in_c = channels * 7, .out_c = 19, .in_w = 23, .batch = 2, .kernel_w = 4, .stride_w = 2};
      line.dilation_w = 2, line.pad_left = 3, line.pad_right = 2;
      const ConvShape s = image.shape();
      if (nchw && channels > 1) {
        EXPECT_EQ(fold_width(s), s);
        continue;
      }
      EXPECT_EQ(fold_width(s), line.shape());
      std::vector<float> weights(19 * channels * 4 * 7);
      std::iota(weights.begin(), weights.end(), 1.0f);
      const size_t bytes = conv_packed_bytes(s, ConvAlgorithm::rows);
      ASSERT_EQ(bytes, conv_packed_bytes(line.shape(), ConvAlgorithm::rows));
      Lines of_image(bytes), of_line(bytes);
      conv_pack(s, ConvAlgorithm::rows, weights.data(), of_image.floats());
      conv_pack(line.shape(), ConvAlgorithm::rows, folded_weights(weights, s).data(), of_line.floats());
      EXPECT_TRUE(std::equal(of_line.floats(), of_line.floats() + bytes / sizeof(float), of_image.floats()));
    }
  }
}

TEST(ConvNarrow, OtherImagesStay) {
  const ConvCase image{.in_c = 4, .out_c = 4, .in_h = 9, .in_w = 5, .kernel_h = 3, .kernel_w = 5};
  EXPECT_NE(fold_width(image.shape()), image.shape());
  std::vector<ConvCase> others(7, image);
  others[0].in_w = 6;
  others[1].pad_left = others[1].stride_w = 1;
  others[2].kernel_h = 1;
  others[3].groups = 2;
  others[4].scaled_input = true;
  others[5].in_gap = 1;
  others[6].kernel_w = 3, others[6].dilation_w = 2;
  for (const ConvCase& c : others) EXPECT_EQ(fold_width(c.shape()), c.shape()) << c.name();
}

}  // namespace
}  // namespace retort::kernels
