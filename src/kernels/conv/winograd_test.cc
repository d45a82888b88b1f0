// Tests Winograd's algorithms against the plain loop, at every instruction level.
#include <gtest/gtest.h>

#include "kernels/conv/conv_testing.h"

namespace retort::kernels {
namespace {

TEST(Conv, Winograd) {
  const std::vector<ConvAlgorithm> all{ConvAlgorithm::winograd4, ConvAlgorithm::winograd2,
                                       ConvAlgorithm::winograd2_packed, ConvAlgorithm::winograd4_packed};
  for (const size_t in_c : {1, 3, 17, 24, 33, 64}) {
    for (const size_t out_c : {1, 17, 64, 200}) {
      ConvCase c{.in_c = in_c, .out_c = out_c, .in_h = 9, .in_w = 14, .batch = 2, .kernel_h = 3, .kernel_w = 3};
      c.pad_top = 1, c.pad_left = 1, c.pad_bottom = 0, c.pad_right = 2;
      check_conv(c, all);
    }
  }
  for (const size_t size : {1, 3, 4, 5, 8, 23}) {
    ConvCase c{.in_c = 8, .out_c = 16, .in_h = size, .in_w = size + 1, .batch = 3, .kernel_h = 3, .kernel_w = 3};
    c.pad_all(1);
    check_conv(c, all);
  }
  using Dilations = std::pair<size_t, size_t>;
  for (const auto& [down, across] : {Dilations{2, 1}, {2, 2}, {3, 3}, {1, 2}, {6, 3}, {5, 5}, {40, 40}}) {
    ConvCase c{.in_c = 19, .out_c = 35, .in_h = 11, .in_w = 24, .batch = 2, .kernel_h = 3, .kernel_w = 3};
    c.dilation_h = down, c.dilation_w = across;
    c.pad_top = c.pad_bottom = down, c.pad_left = c.pad_right = across;
    check_conv(c, all);
    c.in_gap = 5, c.out_gap = 3, c.residual = Residual::in_place, c.activation.kind = Activation::Kind::tanh;
    check_conv(c, all);
  }
}

// Every division of taps into groups; lines shorter and longer than a block of tiles; dilation beyond the line.
TEST(Conv, WinogradLine) {
  for (size_t kernel = 2; kernel <= 13; ++kernel) {
    for (const size_t in_c : {1, 16, 37}) {
      ConvCase c{.in_c = in_c, .out_c = 41, .in_h = 2, .in_w = 50, .batch = 2, .kernel_w = kernel};
      c.pad_left = kernel / 2, c.pad_right = 1;
      check_conv(c.with(ConvAlgorithm::winograd_line));
    }
  }
  for (const size_t kernel : {3, 5, 11}) {
    for (const size_t dilation : {1, 2, 3, 7, 60}) {
      ConvCase c{.in_c = 24, .out_c = 32, .in_w = 53, .kernel_w = kernel, .dilation_w = dilation};
      c.pad_left = c.pad_right = kernel / 2 * dilation;
      check_conv(c.with(ConvAlgorithm::winograd_line));
      c.in_w = 1203, c.in_gap = 5, c.out_gap = 3, c.residual = Residual::in_place,
      c.activation.kind = Activation::Kind::tanh;
      check_conv(c.with(ConvAlgorithm::winograd_line));
    }
    ConvCase wide{
        .in_c = 136, .out_c = 200, .in_w = 501, .kernel_w = kernel};  // filters that each block transforms again
    check_conv(wide.with(ConvAlgorithm::winograd_line));
  }
}

// Filters that a worker keeps from one block of tiles to the next, in one group of channels and in two; filters that
// each block transforms again, in one chunk and in several.
TEST(Conv, WinogradFilters) {
  const size_t channels[][2] = {{24, 40}, {40, 264}, {130, 90}, {272, 96}};
  for (const auto& [in_c, out_c] : channels) {
    ConvCase c{.in_c = in_c, .out_c = out_c, .in_h = 29, .in_w = 27, .kernel_h = 3, .kernel_w = 3};
    c.pad_all(1);
    check_conv(c, {ConvAlgorithm::winograd4, ConvAlgorithm::winograd2, ConvAlgorithm::winograd2_packed,
                   ConvAlgorithm::winograd4_packed});
  }
}

TEST(Conv, FiltersForFewTilesArePackedForWinograd) {
  ConvCase c{.in_c = 512, .out_c = 512, .in_h = 7, .in_w = 7, .kernel_h = 3, .kernel_w = 3};
  c.pad_all(1);
  EXPECT_TRUE(saves_by_packed_winograd(c.shape(), false));
  EXPECT_FALSE(saves_by_packed_winograd(c.shape(), true));
  ConvCase large{.in_c = 64, .out_c = 64, .in_h = 56, .in_w = 56, .kernel_h = 3, .kernel_w = 3};
  large.pad_all(1);
  EXPECT_FALSE(saves_by_packed_winograd(large.shape(), false));  // many tiles
  ConvCase apart = c;
  apart.in_w = 8, apart.dilation_w = 2;
  apart.pad_left = apart.pad_right = 2;
  EXPECT_FALSE(saves_by_packed_winograd(apart.shape(), false));  // could not convolve other widths
  apart.dilation_h = 2;
  EXPECT_TRUE(saves_by_packed_winograd(apart.shape(), false));
  c.batch = 0;
  EXPECT_TRUE(saves_by_packed_winograd(c.shape(), false));
  for (const size_t batch : {1, 2, 6, 32}) {
    c.batch = batch;
    EXPECT_EQ(choose_packed_winograd(c.shape()),
              batch <= 2 ? ConvAlgorithm::winograd2_packed : ConvAlgorithm::winograd4_packed);
  }
}

}  // namespace
}  // namespace retort::kernels
