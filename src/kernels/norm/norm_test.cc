#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/elementwise/kernel_testing.h"
#include "kernels/norm/group_norm.h"
#include "kernels/norm/row_norm.h"
#include "kernels/norm/softmax.h"

namespace retort::kernels {
namespace {

using testing::Random;

void expect_near(const std::vector<float>& got, const std::vector<float>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i]) || std::isinf(want[i])) {
      ASSERT_TRUE(std::isnan(want[i]) ? std::isnan(got[i]) : got[i] == want[i]) << i << ": " << got[i];
    } else {
      ASSERT_NEAR(got[i], want[i], tolerance * std::max(1.0f, std::abs(want[i]))) << "element " << i;
    }
  }
}

void expect_reference(RowNorm args, const Parallel& par, double tolerance) {
  std::vector<float> got(args.rows * args.width), want(got.size());
  args.y = got.data();
  row_norm(args, par);
  args.y = want.data();
  row_norm_reference(args);
  expect_near(got, want, tolerance);
}

class NormKernel : public testing::PerIsa {};

struct NormBuffers {
  std::vector<float> y, sum, mean, inv_std;
  explicit NormBuffers(size_t rows, size_t width) : y(rows * width), sum(rows * width), mean(rows), inv_std(rows) {}
  void into(RowNorm& args) {
    args.y = y.data();
    args.mean = mean.data();
    args.inv_std = inv_std.data();
    if (args.skip) args.sum = sum.data();
  }
};

TEST_P(NormKernel, RowNormInAllForms) {
  Random random(1);
  for (const auto [rows, width] :
       std::vector<std::array<size_t, 2>>{{1, 1}, {3, 5}, {2, 16}, {7, 33}, {128, 768}, {5, 9001}}) {
    const auto x = random.floats(rows * width, -1, 3), skip = random.floats(rows * width, -1, 1);
    const auto bias = random.floats(width, -1, 1), gamma = random.floats(width, 0, 2),
               beta = random.floats(width, -1, 1);
    for (int form = 0; form < 32; ++form) {
      RowNorm args{.rows = rows, .width = width, .x = x.data(), .epsilon = 1e-3f};
      if (form & 1) args.gamma = gamma.data();
      if (form & 2) args.beta = beta.data();
      if (form & 4) args.skip = skip.data();
      args.skip_rows = rows;
      if (form & 8) args.bias = bias.data();
      args.simplified = form & 16;
      NormBuffers got(rows, width), want(rows, width);
      got.into(args);
      row_norm(args, three_threads());
      want.into(args);
      row_norm_reference(args);
      expect_near(got.y, want.y, 3e-6);
      expect_near(got.sum, want.sum, 2e-7);
      expect_near(got.mean, want.mean, 1e-6);
      expect_near(got.inv_std, want.inv_std, 2e-6);
    }
  }
}

TEST_P(NormKernel, SkipRowsRepeatAndSumIsOptional) {
  Random random(2);
  const size_t rows = 6, width = 70;
  const auto x = random.floats(rows * width, -1, 1), skip = random.floats(2 * width, -1, 1);
  RowNorm args{.rows = rows, .width = width, .x = x.data(), .skip = skip.data(), .skip_rows = 2};
  expect_reference(args, one_thread(), 3e-6);
}

TEST_P(NormKernel, LargeOffsetDoesNotCancel) {
  Random random(3);
  const size_t width = 4099;
  auto x = random.floats(width, -1, 1);
  for (float& v : x) v += 4000;
  RowNorm args{.rows = 1, .width = width, .x = x.data(), .epsilon = 0};
  expect_reference(args, one_thread(), 1e-3);  // the mean itself has an ulp of 2.4e-4
}

TEST_P(NormKernel, RowNormInPlaceSameBitsWithThreads) {
  const size_t rows = 301, width = 257;
  const auto x = Random(4).floats(rows * width, -2, 2);
  std::vector<float> y(x.size()), z = x;
  RowNorm args{.rows = rows, .width = width, .x = x.data(), .y = y.data()};
  row_norm(args, one_thread());
  args.x = args.y = z.data();
  row_norm(args, three_threads());
  EXPECT_EQ(y, z);
}

TEST_P(NormKernel, GroupAndInstanceNorm) {
  Random random(5);
  struct Shape {
    size_t batch, channels, spatial, groups;
  };
  for (const Shape& s : {Shape{2, 6, 35, 3}, Shape{1, 4, 1, 2}, Shape{3, 5, 1000, 5}, Shape{2, 32, 64, 1},
                         Shape{2, 4, 0, 2}, Shape{1, 41, 1001, 1}, Shape{2, 6, 70000, 2}}) {
    const size_t n = s.batch * s.channels * s.spatial;
    const auto x = random.floats(n, -1, 3), gamma = random.floats(s.channels, 0, 2),
               beta = random.floats(s.channels, -1, 1);
    std::vector<float> got(n), want(n);
    for (const bool affine : {true, false}) {
      GroupNorm args{.batch = s.batch, .channels = s.channels, .spatial = s.spatial, .groups = s.groups, .x = x.data()};
      if (affine) {
        args.gamma = gamma.data();
        args.beta = beta.data();
      }
      args.y = got.data();
      group_norm(args, three_threads());
      args.y = want.data();
      group_norm(args, one_thread());
      ASSERT_EQ(got, want);
      group_norm_reference(args);
      expect_near(got, want, 3e-6);
    }
  }
}

TEST_P(NormKernel, GroupNormOfChannelsLast) {
  Random random(7);
  struct Shape {
    size_t batch, channels, spatial, groups;
  };
  for (const Shape& s :
       {Shape{2, 6, 35, 3}, Shape{1, 4, 1, 2}, Shape{3, 5, 1000, 5}, Shape{2, 32, 64, 1}, Shape{2, 4, 0, 2},
        Shape{1, 130, 301, 1}, Shape{2, 67, 513, 67}, Shape{1, 3000, 70, 2}, Shape{1, 0, 5, 1}}) {
    const auto x = random.floats(s.batch * s.channels * s.spatial, -1, 3);
    const auto gamma = random.floats(s.channels, 0, 2), beta = random.floats(s.channels, -1, 1);
    for (const bool affine : {true, false}) {
      std::vector<float> got = x, again = x, want(x.size());
      GroupNorm args{.batch = s.batch, .channels = s.channels, .spatial = s.spatial, .groups = s.groups, .x = x.data()};
      if (affine) args.gamma = gamma.data(), args.beta = beta.data(), args.activation.kind = Activation::Kind::silu;
      args.y = want.data();
      group_norm_nhwc_reference(args);
      const auto in_place = [&](std::vector<float>& values, const Parallel& par) {
        std::vector<double> scratch(group_norm_nhwc_scratch(args, par.workers()) / sizeof(double) + 1);
        args.x = args.y = values.data();
        group_norm_nhwc(args, scratch.data(), par);
      };
      in_place(got, three_threads());
      in_place(again, one_thread());
      ASSERT_EQ(got, again);
      expect_near(got, want, 3e-6);
    }
  }
}

TEST_P(NormKernel, RowAffine) {
  Random random(8);
  for (const auto [rows, channels] :
       std::vector<std::array<size_t, 2>>{{0, 5}, {5, 0}, {1, 1}, {3, 17}, {301, 130}, {7, 5000}}) {
    const auto scale = random.floats(channels, -1, 2), shift = random.floats(channels, -1, 1);
    const auto x = random.floats(rows * channels, -2, 2);
    for (const auto kind : {Activation::Kind::none, Activation::Kind::relu, Activation::Kind::gelu_erf}) {
      std::vector<float> got = x, want(x.size());
      RowAffine args{.rows = rows, .channels = channels, .x = x.data(), .scale = scale.data(), .shift = shift.data()};
      args.activation.kind = kind;
      args.y = want.data();
      row_affine_reference(args);
      args.x = args.y = got.data();
      row_affine(args, three_threads());
      expect_near(got, want, 1e-6);
    }
  }
}

TEST_P(NormKernel, ChannelAffine) {
  Random random(6);
  const size_t batch = 2, channels = 5, spatial = 77;
  const auto x = random.floats(batch * channels * spatial, -1, 1), scale = random.floats(channels, 0, 2);
  const auto shift = random.floats(channels, -1, 1);
  std::vector<float> y(x.size());
  channel_affine({batch, channels, spatial, x.data(), scale.data(), shift.data(), y.data()}, three_threads());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i / spatial % channels;
    ASSERT_NEAR(y[i], x[i] * scale[c] + shift[c], 1e-6);
  }
}

TEST_P(NormKernel, Affine) {
  Random random(7);
  for (const size_t n : {0, 1, 3, 4, 15, 16, 33, 77}) {
    auto x = random.floats(n + 1, -1, 1);
    if (n > 2) x[n / 2] = NAN;
    std::vector<float> y(n + 1, 5.0f);
    affine({.center = 0.5f, .scale = -2, .shift = 0.25f}, x.data(), y.data(), n);
    for (size_t i = 0; i < n; ++i) {
      if (std::isnan(x[i]))
        ASSERT_TRUE(std::isnan(y[i]));
      else
        ASSERT_NEAR(y[i], (x[i] - 0.5f) * -2 + 0.25f, 1e-6);
    }
    EXPECT_EQ(y[n], 5.0f);
    affine({.scale = 3, .shift = -0.0f}, x.data(), x.data(), n);  // in place, and only scaled
  }
}

class SoftmaxKernel : public testing::PerIsa {
 protected:
  void check(size_t outer, size_t extent, size_t inner, const std::vector<float>& x) {
    for (const bool log : {false, true}) {
      std::vector<float> got(x.size()), want(x.size());
      softmax({outer, extent, inner, x.data(), got.data(), log}, three_threads());
      softmax_reference({outer, extent, inner, x.data(), want.data(), log});
      expect_near(got, want, 1e-6);
      if (log) continue;
      for (size_t i = 0; i < x.size(); ++i) {
        if (!std::isfinite(want[i])) continue;
        ASSERT_NEAR(got[i], want[i], 1.5e-5 * double(want[i]) + 1e-37);  // small terms must stay accurate
      }
    }
  }
};

TEST_P(SoftmaxKernel, LastAndInnerAxes) {
  Random random(1);
  for (const size_t extent : {1, 2, 15, 16, 33, 128, 1000}) {
    for (const size_t inner : {1, 2, 3, 4, 7, 12, 15, 16, 21, 100}) {
      const size_t outer = 3;
      check(outer, extent, inner, random.floats(outer * extent * inner, -9, 9));
      check(outer, extent, inner, random.floats(outer * extent * inner, 700, 800));
    }
  }
  for (const size_t extent : {2, 3, 4, 5}) check(67, extent, 1, random.floats(67 * extent, -30, 30));
  check(700, 50, 1, random.floats(700 * 50, -30, 0));
  check(1, 3, 5000, random.floats(3 * 5000, -30, 0));
}

TEST_P(SoftmaxKernel, InfinitiesAndNaN) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x = Random(2).floats(6 * 20, -2, 2);
  std::fill_n(x.begin(), 20, -inf);                 // all masked
  for (size_t i = 20; i < 40; i += 2) x[i] = -inf;  // partly masked
  x[45] = inf;
  x[66] = nan;
  x[80] = -3e38f;
  x[85] = 3e38f;
  for (const size_t extent : {20, 4, 3, 2}) check(120 / extent, extent, 1, x);
  std::vector<float> transposed(x.size());
  for (size_t r = 0; r < 6; ++r) {
    for (size_t k = 0; k < 20; ++k) transposed[k * 6 + r] = x[r * 20 + k];
  }
  check(1, 20, 6, transposed);
  // The same with as many elements as are needed for computing the six slices together.
  std::vector<float> longer;
  for (size_t r = 0; r < 5; ++r) longer.insert(longer.end(), transposed.begin(), transposed.end());
  check(1, 100, 6, longer);
}

TEST_P(SoftmaxKernel, InPlaceSameBitsWithThreads) {
  const auto x = Random(3).floats(600 * 130, -5, 5);
  for (const size_t inner : {1, 4, 6, 60}) {
    std::vector<float> y(x.size()), z = x;
    const size_t extent = 130, outer = x.size() / extent / inner;
    softmax({outer, extent, inner, x.data(), y.data(), false}, one_thread());
    softmax({outer, extent, inner, z.data(), z.data(), false}, three_threads());
    EXPECT_EQ(y, z);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, NormKernel, testing::all_isas(), testing::isa_label);
INSTANTIATE_TEST_SUITE_P(Levels, SoftmaxKernel, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
