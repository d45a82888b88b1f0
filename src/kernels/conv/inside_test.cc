// Tests convolutions whose taps outside of the image are left out.
#include "kernels/conv/inside.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/conv/conv_testing.h"

namespace retort::kernels {
namespace {

ConvCase dilated(size_t dilation) {
  ConvCase c{.in_c = 19, .out_c = 45, .in_h = 17, .in_w = 21, .kernel_h = 3, .kernel_w = 3};
  c.dilation_h = c.dilation_w = dilation;
  c.pad_all(dilation);
  return c.with(ConvAlgorithm::inside);
}

TEST(ConvInside, Dilations) {
  for (const size_t dilation : {1, 2, 6, 12, 18, 24}) {
    for (const size_t batch : {1, 3}) {
      ConvCase c = dilated(dilation);
      c.batch = batch;
      check_conv(c);
      c.stride_h = 2, c.stride_w = 3, c.kernel_w = 2, c.bias = false;
      check_conv(c);
      c.dilation_w = 1, c.kernel_w = 5, c.in_gap = 3, c.out_gap = 7, c.residual = Residual::separate;
      check_conv(c);
    }
  }
}

// Several gathered parts of a row of the kernel, several blocks of a rectangle, and groups of columns.
TEST(ConvInside, LargeProducts) {
  ConvCase deep = dilated(5);
  deep.in_c = 1500, deep.in_h = deep.in_w = 9, deep.out_c = 260, deep.residual = Residual::in_place;
  deep.activation = {Activation::Kind::silu};
  check_conv(deep);
  check_threads(deep);
  ConvCase many = dilated(12);
  many.batch = 7, many.kernel_h = 1;
  many.pad_top = many.pad_bottom = 0;
  check_conv(many);
  check_threads(many);
}

// Some outputs see nothing of the image, here a whole rectangle; NaN reaches only those that see it.
TEST(ConvInside, MorePaddingThanImage) {
  ConvCase c = dilated(4);
  c.in_h = c.in_w = 2;
  c.pad_all(9);
  c.activation = {Activation::Kind::leaky_relu, 0.2f};
  check_conv(c);
  c.poison = std::numeric_limits<float>::quiet_NaN();
  check_conv(c);
}

TEST(ConvInside, Choice) {
  const auto choose = [](const ConvCase& c, bool strict = false) { return choose_conv(c.shape(), strict); };
  ConvCase c = dilated(18);
  c.in_c = c.out_c = 256, c.in_h = c.in_w = 28;
  EXPECT_EQ(choose(c), ConvAlgorithm::inside);
  EXPECT_EQ(choose(c, true), ConvAlgorithm::inside);
  EXPECT_NEAR(conv_detail::inside_share(c.shape()), 0.37, 0.02);
  ConvCase scaled = c;
  scaled.scaled_input = true;
  EXPECT_EQ(choose(scaled), ConvAlgorithm::rows);
  ConvCase near = c;
  near.dilation_h = near.dilation_w = 1;
  near.pad_all(1);
  EXPECT_EQ(choose(near), ConvAlgorithm::winograd4);
  near.in_h = near.in_w = 2, near.batch = 64;  // each pixel has four taps of nine
  EXPECT_EQ(choose(near), ConvAlgorithm::inside);
  near.batch = 0;
  EXPECT_EQ(conv_detail::inside_share(near.shape()), 1);
  ConvCase wide{.in_c = 16, .out_c = 16, .in_h = 14, .in_w = 14, .kernel_h = 15, .kernel_w = 15};
  wide.pad_all(7);  // more spans than there is room for
  EXPECT_EQ(choose(wide), plain_algorithm(wide));
}

// Winograd's method multiplies the taps in the padding, too, also with filters that are packed for it.
TEST(ConvInside, SavesMoreThanPackedWinograd) {
  ConvCase c{.in_c = 512, .out_c = 512, .in_h = 10, .in_w = 10, .kernel_h = 3, .kernel_w = 3};
  c.pad_all(1);
  EXPECT_TRUE(saves_by_packed_winograd(c.shape(), false));
  c.dilation_h = c.dilation_w = 6;
  c.pad_all(6);
  EXPECT_FALSE(saves_by_packed_winograd(c.shape(), false));
  EXPECT_EQ(choose_conv(c.shape(), false), ConvAlgorithm::inside);
}

}  // namespace
}  // namespace retort::kernels
