// Tests convolution in bfloat16 arithmetic against the plain loop on rounded input and filters.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/conv/conv_testing.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/without_tiles.h"

namespace retort::kernels {
namespace {

void check_once(ConvCase c) {
  c.algorithm = ConvAlgorithm::bf16_rows;
  const ConvData data(c);
  ConvData rounded = data;
  rounded.round();
  const std::vector<float> want = rounded.reference(), got = data.run(Parallel());
  ASSERT_EQ(want.size(), got.size());
  size_t wrong = 0;
  for (size_t i = 0; i < want.size(); ++i) wrong += !(std::fabs(want[i] - got[i]) <= 2e-5f);
  EXPECT_EQ(wrong, 0u) << c.name() << (has_bf16_tiles() ? " AMX" : "");
  ThreadPool pool({.threads = 3});
  const std::vector<float> together = data.run(Parallel(&pool, nullptr));
  EXPECT_EQ(std::memcmp(got.data(), together.data(), got.size() * sizeof(float)), 0) << c.name();
}

void check(const ConvCase& c) {
  if (!has_bf16_products()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  check_once(c);
  const testing::WithoutTiles without;
  check_once(c);
}

TEST(Bf16Conv, Pointwise) {
  for (const size_t in_c : {2, 16, 18, 34, 100}) {
    for (const size_t out_c : {1, 8, 33, 72}) {
      ConvCase c{.in_c = in_c, .out_c = out_c, .in_h = 5, .in_w = 9, .batch = 2};
      check(c);
      c.in_gap = 3, c.out_gap = 5, c.residual = Residual::in_place, c.activation = {Activation::Kind::relu};
      check(c);
      c.stride_h = c.stride_w = 2;
      check(c);
    }
  }
}

TEST(Bf16Conv, Windows) {
  for (const size_t kernel : {2, 3, 5}) {
    for (const size_t stride : {1, 2}) {
      ConvCase c{.in_c = 18, .out_c = 40, .in_h = 13, .in_w = 11, .batch = 2, .kernel_h = kernel, .kernel_w = 3};
      c.stride_h = c.stride_w = stride;
      c.dilation_h = kernel == 5 ? 2 : 1;
      c.pad_top = 1, c.pad_left = 2, c.pad_bottom = 3;
      check(c);
    }
  }
  ConvCase line{.in_c = 16, .out_c = 40, .in_w = 77, .kernel_w = 11, .dilation_w = 3};
  line.pad_left = line.pad_right = 15;
  check(line);
  check({.in_c = 16, .out_c = 40, .in_h = 4, .in_w = 4, .batch = 0});
}

ConvCase of_few_channels(size_t in_c, size_t kernel_h, size_t kernel_w, size_t stride, size_t size) {
  ConvCase c{.in_c = in_c, .out_c = 40, .in_h = size, .in_w = size + 2, .batch = 2};
  c.kernel_h = kernel_h, c.kernel_w = kernel_w;
  c.stride_h = c.stride_w = stride;
  c.dilation_h = size == 20 ? 2 : 1;
  c.pad_all(kernel_w);
  c.input_is_nchw = true;
  c.out_gap = 3, c.residual = Residual::in_place, c.activation = {Activation::Kind::relu};
  return c;
}

/// The first convolution of a network, which AMX computes from lines of pixels.
TEST(Bf16Conv, FewChannels) {
  if (!has_bf16_tiles()) GTEST_SKIP() << "this processor has no AMX";
  for (const size_t in_c : {1, 2, 3, 4}) {
    for (const auto& [kernel, stride] : {std::pair<size_t, size_t>{7, 2}, {3, 2}, {3, 1}, {8, 4}, {1, 1}}) {
      for (const size_t size : {1, 5, 20, 75}) {
        const ConvCase c = of_few_channels(in_c, kernel == 8 ? 2 : kernel, kernel, stride, size);
        EXPECT_TRUE(saves_by_bf16(c.shape(), false));
        check_once(c);
      }
    }
  }
}

/// The same by gathered pixels of four channels; images that end within a vector, and of more than one task.
TEST(Bf16Conv, FewChannelsWithoutTiles) {
  if (!has_bf16_products()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  const testing::WithoutTiles without;
  for (const size_t in_c : {3, 4}) {
    for (const auto& [kernel, stride] : {std::pair<size_t, size_t>{7, 2}, {16, 16}, {8, 3}}) {
      for (const size_t size : {1, 5, 20, 75}) {
        const ConvCase c = of_few_channels(in_c, kernel, kernel, stride, size);
        EXPECT_TRUE(saves_by_bf16(c.shape(), false));
        EXPECT_TRUE(saves_by_bf16(c.shape(), true));
        check_once(c);
      }
    }
  }
  ConvCase small{.in_c = 3, .out_c = 40, .in_h = 20, .in_w = 20, .kernel_h = 3, .kernel_w = 3};
  small.input_is_nchw = true;
  EXPECT_FALSE(saves_by_bf16(small.shape(), false));
}

/// A model file need not align its weights, and packing ends when it is cancelled.
TEST(Bf16Conv, PackingOfFewChannels) {
  const std::atomic<bool> stop{true};
  const Parallel cancelled(nullptr, &stop);
  const auto check_packing = [&](const ConvShape& s) {
    std::vector<float> weights(s.out_c * s.in_c * s.kernel_h * s.kernel_w);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = float(i % 37) - 18;
    std::vector<char> moved(weights.size() * sizeof(float) + 1);
    std::memcpy(moved.data() + 1, weights.data(), moved.size() - 1);
    const size_t bytes = conv_packed_bytes(s, ConvAlgorithm::bf16_rows), floats = bytes / sizeof(float);
    testing::Lines packed(bytes), again(bytes);
    conv_pack(s, ConvAlgorithm::bf16_rows, weights.data(), packed.floats());
    conv_pack(s, ConvAlgorithm::bf16_rows, reinterpret_cast<const float*>(moved.data() + 1), again.floats());
    EXPECT_EQ(std::memcmp(packed.floats(), again.floats(), bytes), 0);
    std::fill_n(packed.floats(), floats, 7.0f);
    conv_pack(s, ConvAlgorithm::bf16_rows, weights.data(), packed.floats(), cancelled);
    EXPECT_EQ(size_t(std::count(packed.floats(), packed.floats() + floats, 7.0f)), floats);
  };
  if (!has_bf16_products()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  ConvCase c{.in_c = 3, .out_c = 40, .in_h = 9, .in_w = 9, .kernel_h = 7, .kernel_w = 7};
  c.input_is_nchw = true;
  check_packing(c.shape());
  const testing::WithoutTiles without;
  check_packing(c.shape());
}

/// Sums of whole numbers are exact, so transforms, packing and the place of every output are.
void check_winograd(ConvCase c) {
  c.algorithm = ConvAlgorithm::bf16_winograd;
  ConvData data(c);
  data.make_whole();
  const std::vector<float> want = data.reference(), got = data.run(Parallel());
  float largest = 1;
  for (const float w : want) largest = w == ConvData::kGuard ? largest : std::max(largest, std::fabs(w));
  ASSERT_EQ(want.size(), got.size());
  size_t wrong = 0;
  for (size_t i = 0; i < want.size(); ++i) wrong += !(std::fabs(want[i] - got[i]) <= 1e-6f * largest);
  EXPECT_EQ(wrong, 0u) << c.name();
  check_threads(c);
}

TEST(Bf16Conv, Winograd) {
  if (!has_bf16_products()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  const testing::WithoutTiles without;
  for (const size_t in_c : {2, 16, 18, 34, 130}) {
    for (const size_t out_c : {1, 33, 72, 200}) {
      ConvCase c{.in_c = in_c, .out_c = out_c, .in_h = 9, .in_w = 14, .batch = 2, .kernel_h = 3, .kernel_w = 3};
      c.pad_top = 1, c.pad_left = 1, c.pad_bottom = 0, c.pad_right = 2;
      check_winograd(c);
    }
  }
  for (const size_t size : {1, 3, 5, 57}) {
    ConvCase c{.in_c = 20, .out_c = 24, .in_h = size, .in_w = size + 1, .batch = 2, .kernel_h = 3, .kernel_w = 3};
    c.pad_all(1);
    c.in_gap = 5, c.out_gap = 3, c.residual = Residual::in_place, c.activation = {Activation::Kind::relu};
    check_winograd(c);
    c.dilation_h = c.dilation_w = 2;
    c.pad_all(2);
    check_winograd(c);
  }
  check_winograd({.in_c = 16, .out_c = 40, .in_h = 4, .in_w = 4, .batch = 0, .kernel_h = 3, .kernel_w = 3});
}

double error_of(ConvCase c, ConvAlgorithm algorithm) {
  c.algorithm = algorithm;
  const ConvData data(c);
  const std::vector<float> want = data.reference(), got = data.run(Parallel());
  double sum = 0;
  for (size_t i = 0; i < want.size(); ++i) sum += (double(want[i]) - got[i]) * (double(want[i]) - got[i]);
  return std::sqrt(sum / double(want.size()));
}

TEST(Bf16Conv, WinogradsErrorIsThatOfTheMode) {
  if (!has_bf16_products()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  const testing::WithoutTiles without;
  for (const size_t channels : {16, 256}) {
    ConvCase c{.in_c = channels, .out_c = channels, .in_h = 14, .in_w = 14, .kernel_h = 3, .kernel_w = 3};
    c.pad_all(1);
    const double direct = error_of(c, ConvAlgorithm::bf16_rows), winograd = error_of(c, ConvAlgorithm::bf16_winograd);
    EXPECT_LT(winograd, 2 * direct);
    EXPECT_GT(winograd, direct) << "nothing was rounded";
  }
}

TEST(Bf16Conv, WinogradPaysForManyChannels) {
  if (!has_bf16_products()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  ConvCase c{.in_c = 256, .out_c = 256, .in_h = 14, .in_w = 14, .kernel_h = 3, .kernel_w = 3};
  c.pad_all(1);
  EXPECT_EQ(saves_by_bf16_winograd(c.shape(), false), !has_bf16_tiles());
  const testing::WithoutTiles without;
  EXPECT_TRUE(saves_by_bf16_winograd(c.shape(), false));
  EXPECT_FALSE(saves_by_bf16_winograd(c.shape(), true));
  ConvCase large = c;
  large.in_c = large.out_c = 64, large.in_h = large.in_w = 56;
  EXPECT_TRUE(saves_by_bf16_winograd(large.shape(), false));
  large.out_c = 80;  // a panel would be half empty
  EXPECT_FALSE(saves_by_bf16_winograd(large.shape(), false));
  ConvCase other = c;
  other.in_c = 255;
  EXPECT_FALSE(saves_by_bf16_winograd(other.shape(), false));
  other = c;
  other.in_w = 15, other.stride_h = other.stride_w = 2;
  EXPECT_FALSE(saves_by_bf16_winograd(other.shape(), false));
  other = c;
  other.in_c = other.out_c = 16;  // transforms take longer than the products
  EXPECT_FALSE(saves_by_bf16_winograd(other.shape(), false));
}

/// Registers hold eight pixels of a line, also where the kernel has three columns.
TEST(Bf16Conv, InfinityStaysInItsWindows) {
  if (!has_bf16_tiles()) GTEST_SKIP() << "this processor has no AMX";
  ConvCase c{.in_c = 3, .out_c = 40, .in_h = 20, .in_w = 22, .batch = 2, .kernel_h = 3, .kernel_w = 3};
  c.pad_all(1);
  c.input_is_nchw = true;
  c.poison = INFINITY;
  c.algorithm = ConvAlgorithm::bf16_rows;
  const ConvData data(c);
  const std::vector<float> want = data.reference(), got = data.run(Parallel());
  size_t infinite = 0, wrong = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    infinite += !std::isfinite(want[i]);
    wrong += std::isfinite(want[i]) != std::isfinite(got[i]);
  }
  EXPECT_EQ(infinite, 9 * 40u);
  EXPECT_EQ(wrong, 0u);
}

/// A session packs the weights of a column before a run tells that the image is one pixel wide.
TEST(Bf16Conv, ALaidDownColumnIsChosenAlike) {
  if (!has_bf16_tiles()) GTEST_SKIP() << "this processor has no AMX";
  for (const auto& [kernel, dilation] : {std::pair<size_t, size_t>{5, 1}, {11, 1}, {3, 2}, {1, 2}, {1, 1}}) {
    ConvCase c{.in_c = 4, .out_c = 40, .in_h = 64, .kernel_h = kernel, .dilation_h = dilation};
    c.input_is_nchw = true;
    const ConvShape column = c.shape(), line = lay_down(column);
    EXPECT_EQ(line.in_w, 64u);
    EXPECT_EQ(saves_by_bf16(column, false), kernel == 1) << kernel;
    EXPECT_EQ(saves_by_bf16(line, false), kernel == 1) << kernel;
  }
}

/// AMX is faster than Winograd's method.
TEST(Bf16Conv, AmxPaysForLargeImages) {
  if (!has_bf16_tiles()) GTEST_SKIP() << "this processor has no AMX";
  ConvCase c{.in_c = 128, .out_c = 128, .in_h = 56, .in_w = 56, .kernel_h = 3, .kernel_w = 3};
  c.pad_all(1);
  EXPECT_TRUE(saves_by_bf16(c.shape(), false));
  EXPECT_TRUE(saves_by_bf16(c.shape(), true));
}

/// Without AMX, large images under small filters stay with Winograd's method; products with many channels gain.
TEST(Bf16Conv, PaysWhereItIsFaster) {
  if (!has_bf16_products()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  const testing::WithoutTiles without;
  ConvCase c{.in_c = 256, .out_c = 64, .in_h = 56, .in_w = 56};
  EXPECT_TRUE(saves_by_bf16(c.shape(), false));
  c.in_h = c.in_w = 0;
  ConvShape unknown = c.shape();
  unknown.batch = unknown.in_h = unknown.in_w = unknown.out_h = unknown.out_w = 0;
  EXPECT_TRUE(saves_by_bf16(unknown, false));
  c = {.in_c = 128, .out_c = 128, .in_h = 56, .in_w = 56, .kernel_h = 3, .kernel_w = 3};
  c.pad_all(1);
  EXPECT_FALSE(saves_by_bf16(c.shape(), false));
  EXPECT_TRUE(saves_by_bf16(c.shape(), true));
  c.stride_h = c.stride_w = 2;
  EXPECT_TRUE(saves_by_bf16(c.shape(), false));
  c.in_c = 129;
  EXPECT_FALSE(saves_by_bf16(c.shape(), false));
  c.in_c = 128, c.groups = 2;
  EXPECT_FALSE(saves_by_bf16(c.shape(), false));
}

}  // namespace
}  // namespace retort::kernels
