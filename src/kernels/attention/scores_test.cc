#include "kernels/attention/scores.h"

#include <cmath>
#include <limits>
#include <memory>

#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

using testing::Random;
constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

class ScoresKernel : public testing::PerIsa {};

void expect_like_reference(const ScoreRow& row, const std::vector<float>& dots) {
  std::vector<float> got = dots, want = dots;
  got.push_back(5);  // memory after the row must not change
  const float factor = weigh_scores(row, got.data());
  weigh_scores_reference(row, want.data());
  for (size_t j = 0; j < row.count; ++j) {
    if (std::isnan(want[j]))
      ASSERT_TRUE(std::isnan(got[j] * factor)) << j << " of " << row.count;
    else
      ASSERT_NEAR(got[j] * factor, want[j], 1.5e-5 * double(want[j]) + 1e-37) << j << " of " << row.count;
  }
  EXPECT_EQ(got.back(), 5);
}

TEST_P(ScoresKernel, AllForms) {
  Random random(1);
  for (const size_t n : {1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100, 1000}) {
    const auto dots = random.floats(n, -9, 9), bias = random.floats(n, -2, 2);
    // Exactly as many flags as keys, so that a sanitizer detects a read beyond them.
    const auto flags = std::make_unique<bool[]>(n);
    for (size_t j = 0; j < n; ++j) flags[j] = random.bits() % 2;
    for (int form = 0; form < 64; ++form) {
      ScoreRow row{.count = n, .scale = 0.125f, .blind = form & 1 ? kNaN : 0};
      if (form & 2) row.flags = flags.get();
      row.flag_step = form & 4 ? 0 : 1;
      row.flag_hides = form & 8;
      row.hidden = form & 16 ? -kInf : -1;
      if (form & 32) row.bias = bias.data();
      expect_like_reference(row, dots);
      row.sink = 0.5f;
      expect_like_reference(row, dots);
      row.sink.reset();
      row.scale = -0.25f;
      expect_like_reference(row, dots);
    }
  }
}

TEST_P(ScoresKernel, InfinitiesAndNaN) {
  const ScoreRow row{.count = 20, .blind = 7};
  std::vector<float> x(20, -kInf);
  expect_like_reference(row, x);  // all scores are -inf
  ScoreRow with_sink = row;
  with_sink.sink = -kInf;
  expect_like_reference(with_sink, x);
  with_sink.sink = 3;
  expect_like_reference(with_sink, x);  // the sink gets all weight
  for (const size_t at : {0, 5, 16, 19}) {
    for (const float v : {kNaN, kInf, 2.0f}) {
      std::vector<float> y = x;
      y[at] = v;
      expect_like_reference(row, y);
    }
  }
}

TEST_P(ScoresKernel, NoKeys) {
  float x = 5;
  EXPECT_EQ(weigh_scores({.count = 0}, &x), 1);
  EXPECT_EQ(x, 5);
}

INSTANTIATE_TEST_SUITE_P(Levels, ScoresKernel, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
