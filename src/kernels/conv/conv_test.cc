// Tests every algorithm against the plain loop, at every instruction level.
#include "kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/conv/conv_testing.h"
#include "kernels/gemm/strassen.h"

namespace retort::kernels {
namespace {

using Kind = Activation::Kind;

TEST(Conv, Pointwise) {
  for (const size_t in_c : {1, 3, 17, 24, 33, 100}) {
    for (const size_t out_c : {1, 8, 33, 72}) {
      ConvCase c{.in_c = in_c, .out_c = out_c, .in_h = 5, .in_w = 9, .batch = 2};
      check_conv(c.with(ConvAlgorithm::pointwise));
      check_plain_sums(c);
      ConvCase scaled = c;  // by weights of each image, or gathered
      scaled.scaled_input = true;
      EXPECT_EQ(conv_detail::scales_weights(scaled.shape()), out_c <= 22);
      check_conv(scaled.with(ConvAlgorithm::pointwise));
      c.stride_h = c.stride_w = 2;
      check_conv(c.with(ConvAlgorithm::pointwise));
      c.scaled_input = true;
      check_conv(c.with(ConvAlgorithm::pointwise));
    }
  }
}

// The product is large enough to save multiplications, which requires that pixels are read in place.
TEST(Conv, PointwiseInFewerMultiplications) {
  ConvCase c{.in_c = 384, .out_c = 784, .in_h = 12, .in_w = 11, .batch = 2};
  const auto saving = gemm_detail::saves_products() ? ConvAlgorithm::strassen : ConvAlgorithm::pointwise;
  EXPECT_EQ(choose_conv(c.shape(), false), saving);
  EXPECT_EQ(choose_conv(c.shape(), true), ConvAlgorithm::pointwise);
  check_conv(c.with(ConvAlgorithm::strassen));
  ConvCase gaps = c;
  gaps.in_gap = 5, gaps.out_gap = 3, gaps.bias = true, gaps.residual = Residual::separate;
  gaps.activation = {Kind::silu};
  check_conv(gaps.with(ConvAlgorithm::strassen));
  ConvCase strided = c, scaled = c;
  strided.stride_w = 2;
  scaled.scaled_input = true;
  EXPECT_EQ(choose_conv(strided.shape(), false), ConvAlgorithm::pointwise);
  EXPECT_EQ(choose_conv(scaled.shape(), false), ConvAlgorithm::pointwise);
  c.batch = 0;
  check_conv(c.with(ConvAlgorithm::strassen));
}

// A model file need not align its weights.
TEST(Conv, WeightsAtAnyByteArePackedAlike) {
  for (const ConvAlgorithm algorithm :
       {ConvAlgorithm::rows, ConvAlgorithm::winograd4, ConvAlgorithm::winograd2, ConvAlgorithm::depthwise}) {
    const size_t groups = algorithm == ConvAlgorithm::depthwise ? 20 : 1;
    const ConvShape s =
        ConvCase{.in_c = 20, .out_c = 20, .in_h = 8, .in_w = 8, .kernel_h = 3, .kernel_w = 3, .groups = groups}.shape();
    std::vector<float> weights(20 * 20 / groups * 9);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = float(i % 37) - 18;
    std::vector<char> moved(weights.size() * sizeof(float) + 1);
    std::memcpy(moved.data() + 1, weights.data(), moved.size() - 1);
    std::vector<float> packed(conv_packed_bytes(s, algorithm) / sizeof(float) + 16), again = packed;
    const auto aligned64 = [](std::vector<float>& v) {
      return v.data() + (64 - reinterpret_cast<uintptr_t>(v.data()) % 64) % 64 / sizeof(float);
    };
    conv_pack(s, algorithm, weights.data(), aligned64(packed));
    conv_pack(s, algorithm, reinterpret_cast<const float*>(moved.data() + 1), aligned64(again));
    EXPECT_EQ(std::memcmp(aligned64(packed), aligned64(again), conv_packed_bytes(s, algorithm)), 0)
        << conv_algorithm_name(algorithm);
  }
}

TEST(Conv, PackingEndsWhenItIsCancelled) {
  const std::atomic<bool> stop{true};
  const Parallel cancelled(nullptr, &stop);
  for (const bool pointwise : {false, true}) {
    const size_t side = pointwise ? 1 : 3;
    const ConvShape s =
        ConvCase{.in_c = 64, .out_c = 512, .in_h = 8, .in_w = 8, .kernel_h = side, .kernel_w = side}.shape();
    const std::vector<float> weights(64 * 512 * side * side, 1.0f);
    testing::Lines packed(conv_packed_bytes(s, ConvAlgorithm::rows));
    std::fill_n(packed.floats(), 512, 7.0f);
    conv_pack(s, ConvAlgorithm::rows, weights.data(), packed.floats(), cancelled);
    EXPECT_EQ(std::count(packed.floats(), packed.floats() + 512, 7.0f), 512);
  }
}

TEST(Conv, Rows) {
  for (const size_t in_c : {1, 3, 17, 24, 33}) {
    for (const size_t kernel : {2, 3, 5}) {
      for (const size_t stride : {1, 2, 3}) {
        ConvCase c{.in_c = in_c, .out_c = 19, .in_h = 13, .in_w = 8, .batch = 2, .kernel_h = kernel, .kernel_w = 3};
        c.stride_h = stride;
        c.stride_w = 3 - (stride + 1) / 2;
        c.dilation_h = stride;
        c.dilation_w = kernel == 5 ? 2 : 1;
        c.pad_top = 1, c.pad_left = 2, c.pad_bottom = 3, c.pad_right = 0;
        check_plain_sums(c);
        c.input_is_nchw = true;
        check_plain_sums(c);
      }
    }
  }
}

TEST(Conv, FirstLayers) {
  ConvCase resnet{
      .in_c = 3, .out_c = 64, .in_h = 37, .in_w = 41, .kernel_h = 7, .kernel_w = 7, .stride_h = 2, .stride_w = 2};
  resnet.pad_all(3);
  resnet.input_is_nchw = true;
  EXPECT_EQ(choose_conv(resnet.shape(), false), ConvAlgorithm::lines);
  check_plain_sums(resnet);
  ConvCase patches{
      .in_c = 3, .out_c = 96, .in_h = 32, .in_w = 32, .kernel_h = 4, .kernel_w = 4, .stride_h = 4, .stride_w = 4};
  patches.input_is_nchw = true;
  EXPECT_EQ(choose_conv(patches.shape(), false), ConvAlgorithm::lines);
  check_plain_sums(patches);
}

TEST(Conv, OneDimension) {
  for (const size_t dilation : {1, 3, 5}) {
    ConvCase c{.in_c = 16, .out_c = 40, .in_w = 77, .kernel_w = 11, .dilation_w = dilation};
    c.pad_left = c.pad_right = 5 * dilation;
    check_plain_sums(c);
    c.groups = c.out_c = c.in_c;
    check_conv(c.with(ConvAlgorithm::depthwise));
  }
}

// Lines whose patches are read in place, and copied because of padding, gaps and dilation; blocks and columns in parts.
TEST(Conv, Strips) {
  for (const size_t stride : {1, 2, 5}) {
    for (const size_t pad : {0, 3}) {
      ConvCase c{.in_c = 7, .out_c = 150, .in_h = 3, .in_w = 400, .batch = 2, .kernel_w = 4, .stride_w = stride};
      c.pad_left = pad, c.pad_right = 2 * pad, c.residual = Residual::separate;
      EXPECT_EQ(choose_conv(c.shape(), false), ConvAlgorithm::strips);
      check_plain_sums(c);
      c.in_gap = 2, c.out_gap = 1;
      check_plain_sums(c);
    }
  }
  for (const size_t dilation : {5, 20, 40, 200}) {  // strips of 17 to one output, and more phases than outputs
    ConvCase far{.in_c = 8, .out_c = 8, .in_w = 85, .kernel_w = 3, .dilation_w = dilation};
    far.pad_left = far.pad_right = dilation;
    check_plain_sums(far);
    check_conv(far, {ConvAlgorithm::strips, ConvAlgorithm::winograd_line});
  }
}

// The padding may be as large as the image: some patches are then entirely outside.
TEST(Conv, MorePaddingThanImage) {
  ConvCase c{.in_c = 5, .out_c = 6, .in_h = 2, .in_w = 2, .kernel_h = 3, .kernel_w = 3};
  c.pad_all(6);
  check_conv(c.with(ConvAlgorithm::rows));
  check_conv(c.with(ConvAlgorithm::winograd4));
  check_conv(c.with(ConvAlgorithm::winograd2));
  c.groups = c.out_c = c.in_c;
  check_conv(c.with(ConvAlgorithm::depthwise));
  c.dilation_h = c.dilation_w = 4;
  check_conv(c.with(ConvAlgorithm::depthwise));
}

TEST(Conv, Grouped) {
  for (const size_t groups : {1, 2, 3, 6}) {
    ConvCase c{
        .in_c = 18, .out_c = 24, .in_h = 9, .in_w = 7, .batch = 2, .kernel_h = 3, .kernel_w = 3, .groups = groups};
    c.pad_all(1);
    check_conv(c.with(ConvAlgorithm::grouped));
    c.scaled_input = true;
    check_conv(c.with(ConvAlgorithm::grouped));
    c.kernel_h = c.kernel_w = 1;
    c.pad_all(0);
    check_conv(c.with(ConvAlgorithm::grouped));
    c.scaled_input = false;
    check_conv(c.with(ConvAlgorithm::grouped));
  }
  ConvCase multiplier{.in_c = 6, .out_c = 12, .in_h = 9, .in_w = 7, .kernel_h = 3, .kernel_w = 3, .groups = 6};
  check_conv(multiplier.with(ConvAlgorithm::grouped));
}

std::vector<ConvCase> one_of_each() {
  ConvCase full{.in_c = 20, .out_c = 37, .in_h = 9, .in_w = 10, .batch = 2, .kernel_h = 3, .kernel_w = 3};
  full.pad_all(1);
  ConvCase point{.in_c = 20, .out_c = 37, .in_h = 9, .in_w = 10, .batch = 2};
  ConvCase line{.in_c = 20, .out_c = 37, .in_h = 3, .in_w = 30, .batch = 2, .kernel_w = 3};
  ConvCase scaled = point, grouped = full, depthwise = full, few = full;
  scaled.scaled_input = true;
  ConvCase scaled_weights = scaled;
  scaled.in_h = 7;  // too few pixels
  grouped.groups = 2, grouped.out_c = 38;
  depthwise.groups = depthwise.out_c = 20;
  few.in_c = 3, few.input_is_nchw = true;
  return {full.with(ConvAlgorithm::rows),
          full.with(ConvAlgorithm::winograd4),
          full.with(ConvAlgorithm::inside),
          few.with(ConvAlgorithm::lines),
          line.with(ConvAlgorithm::strips),
          full.with(ConvAlgorithm::winograd2),
          full.with(ConvAlgorithm::winograd2_packed),
          point.with(ConvAlgorithm::pointwise),
          scaled.with(ConvAlgorithm::pointwise),
          scaled_weights.with(ConvAlgorithm::pointwise),
          grouped.with(ConvAlgorithm::grouped),
          depthwise.with(ConvAlgorithm::depthwise)};
}

TEST(Conv, EveryEpilogue) {
  for (ConvCase c : one_of_each()) {
    for (int kind = 0; kind <= int(Kind::hard_swish); ++kind) {
      c.activation = {Kind(kind), Kind(kind) == Kind::clip ? -0.5f : 0.2f, 0.5f};
      for (const Residual residual : {Residual::none, Residual::separate, Residual::in_place}) {
        c.residual = residual;
        c.bias = residual != Residual::in_place;
        check_conv(c);
      }
    }
  }
}

TEST(Conv, StridedPixels) {
  for (ConvCase c : one_of_each()) {
    c.in_gap = 5;
    c.out_gap = 3;
    c.residual = Residual::separate;
    check_conv(c);
  }
}

TEST(Conv, EmptyTensors) {
  for (ConvCase c : one_of_each()) {
    c.batch = 0;
    check_conv(c);
    if (c.algorithm == ConvAlgorithm::depthwise || c.algorithm == ConvAlgorithm::grouped) continue;
    c.batch = 1;
    c.out_c = 0;
    check_conv(c);
  }
}

// NaN reaches all outputs that depend on it, also through activations.
TEST(Conv, NanPropagates) {
  for (ConvCase c : one_of_each()) {
    for (const Kind kind : {Kind::none, Kind::relu, Kind::clip, Kind::silu}) {
      c.activation = {kind, -1.0f, 1.0f};
      c.poison = std::numeric_limits<float>::quiet_NaN();
      check_conv(c);
    }
  }
}

TEST(Conv, SameBitsForAnyNumberOfThreads) {
  std::vector<ConvCase> cases = one_of_each();
  ConvCase small{.in_c = 256, .out_c = 300, .in_h = 7, .in_w = 7, .kernel_h = 3, .kernel_w = 3};
  small.pad_all(1);
  ConvCase large{.in_c = 16, .out_c = 16, .in_h = 56, .in_w = 57, .batch = 2, .kernel_h = 3, .kernel_w = 3};
  ConvCase kept{.in_c = 40, .out_c = 264, .in_h = 21, .in_w = 23, .kernel_h = 3, .kernel_w = 3};
  for (const ConvCase& c : {small, large, kept}) {
    cases.push_back(c.with(ConvAlgorithm::rows));
    cases.push_back(c.with(ConvAlgorithm::winograd4));
    cases.push_back(c.with(ConvAlgorithm::winograd2));
    cases.push_back(c.with(ConvAlgorithm::winograd2_packed));
  }
  large.groups = large.in_c;
  cases.push_back(large.with(ConvAlgorithm::depthwise));
  // 1x1, divided by columns and by rows, with odd numbers of panels; scaled, by gathered rows or by weights
  for (const size_t size : {7, 14}) {
    ConvCase c{.in_c = 144, .out_c = 160, .in_h = size, .in_w = size};
    cases.push_back(c.with(ConvAlgorithm::pointwise));
    c.scaled_input = true;
    cases.push_back(c.with(ConvAlgorithm::rows));
    c.out_c = 72, c.batch = 3;
    cases.push_back(c.with(ConvAlgorithm::pointwise));
    ConvCase each{.in_c = 240, .out_c = 240, .in_h = size, .in_w = size, .kernel_h = 5, .kernel_w = 5, .groups = 240};
    each.pad_all(2);
    cases.push_back(each.with(ConvAlgorithm::depthwise));
  }
  for (const ConvCase& c : cases) check_threads(c);
}

TEST(Conv, Choice) {
  const auto choose = [](ConvCase c, bool strict = false) { return choose_conv(c.shape(), strict); };
  ConvCase c{.in_c = 64, .out_c = 64, .in_h = 56, .in_w = 56, .kernel_h = 3, .kernel_w = 3};
  c.pad_all(1);
  EXPECT_EQ(choose(c), ConvAlgorithm::winograd4);
  EXPECT_EQ(choose(c, true), plain_algorithm(c));
  ConvCase dilated = c;
  dilated.dilation_h = dilated.dilation_w = 2;
  EXPECT_EQ(choose(dilated), ConvAlgorithm::winograd4);
  dilated.dilation_h = 1, dilated.in_w = 57;  // rows of 55 outputs are not a whole number of steps of 2
  EXPECT_EQ(choose(dilated), ConvAlgorithm::rows);
  ConvCase narrow = c;
  narrow.in_c = narrow.out_c = 256;
  narrow.in_h = narrow.in_w = 14;
  EXPECT_EQ(choose(narrow), ConvAlgorithm::winograd4);
  narrow.in_h = narrow.in_w = 10;
  // 36 planes of filters do not pay for 9 tiles, but 16 planes for 25 tiles do.
  EXPECT_EQ(choose(narrow), ConvAlgorithm::winograd2);
  ConvCase wide = c;
  wide.in_c = wide.out_c = 512;
  wide.in_h = wide.in_w = 7;
  EXPECT_EQ(choose(wide), plain_algorithm(wide));  // 36 planes of filters for four tiles
  ConvCase strided = c;
  strided.stride_h = strided.stride_w = 2;
  EXPECT_EQ(choose(strided), plain_algorithm(strided));
  ConvCase depthwise = c;
  depthwise.groups = 64;
  EXPECT_EQ(choose(depthwise), ConvAlgorithm::depthwise);
  depthwise.scaled_input = true;
  EXPECT_EQ(choose(depthwise), ConvAlgorithm::grouped);
  ConvCase scaled = c;
  scaled.scaled_input = true;
  EXPECT_EQ(choose(scaled), ConvAlgorithm::rows);
  depthwise.groups = 2;
  EXPECT_EQ(choose(depthwise), ConvAlgorithm::grouped);
  EXPECT_EQ(choose({.in_c = 64, .out_c = 8, .in_h = 7, .in_w = 7}), ConvAlgorithm::pointwise);
  ConvCase padded{.in_c = 64, .out_c = 8, .in_h = 7, .in_w = 7};
  padded.pad_all(1);
  EXPECT_EQ(choose(padded), ConvAlgorithm::inside);  // 49 of 81 pixels are
  padded.scaled_input = true;
  EXPECT_EQ(choose(padded), ConvAlgorithm::rows);
}

}  // namespace
}  // namespace retort::kernels
