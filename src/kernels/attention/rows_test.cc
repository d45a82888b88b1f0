// Tests products of a few rows with many items against plain loops, at every instruction level.
#include "kernels/attention/rows.h"

#include "base/error.h"
#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

class RowsKernel : public testing::PerIsa {};

constexpr float kGuard = -7;
constexpr size_t kGap = 3;

// Tests all numbers of rows, with gaps after each row; `size` and `count` are around the lengths of vectors and of
// blocks.
template <typename F>
void for_each_shape(const F& f) {
  for (const size_t rows : {1, 2, 3, 5, 8}) {
    for (const size_t count : {0, 1, 7, 8, 9, 40}) {
      for (const size_t size : {1, 3, 4, 15, 16, 33, 64, 100}) {
        SCOPED_TRACE(cat("{} rows, {} items of {}", rows, count, size));
        f(RowItems{rows, count, size, size + kGap, size + 2 * kGap, count + kGap});
      }
    }
  }
}

TEST_P(RowsKernel, Scores) {
  for_each_shape([](const RowItems& s) {
    testing::Random random(s.count * 1000 + s.size);
    const std::vector<float> x = random.floats(s.rows * s.row_stride, -1, 1);
    const std::vector<float> items = random.floats(s.count * s.item_stride, -1, 1);
    std::vector<float> scores(s.rows * s.score_stride, kGuard);
    dot_rows(s, x.data(), items.data(), scores.data());
    for (size_t at = 0; at < scores.size(); ++at) {
      const size_t r = at / s.score_stride, j = at % s.score_stride;
      double want = j < s.count ? 0 : kGuard;
      for (size_t i = 0; j < s.count && i < s.size; ++i)
        want += double(x[r * s.row_stride + i]) * items[j * s.item_stride + i];
      ASSERT_NEAR(scores[at], want, 1e-5) << "row " << r << ", item " << j;
    }
  });
}

TEST_P(RowsKernel, WeightedSums) {
  for_each_shape([](const RowItems& s) {
    testing::Random random(s.count * 1000 + s.size);
    const std::vector<float> scores = random.floats(s.rows * s.score_stride, -1, 1);
    const std::vector<float> items = random.floats(s.count * s.item_stride, -1, 1);
    std::vector<float> y(s.rows * s.row_stride, kGuard);
    weighted_rows(s, scores.data(), items.data(), y.data());
    for (size_t at = 0; at < y.size(); ++at) {
      const size_t r = at / s.row_stride, i = at % s.row_stride;
      double want = i < s.size ? 0 : kGuard;
      for (size_t j = 0; i < s.size && j < s.count; ++j)
        want += double(scores[r * s.score_stride + j]) * items[j * s.item_stride + i];
      ASSERT_NEAR(y[at], want, 1e-5) << "row " << r << ", element " << i;
    }
  });
}

TEST_P(RowsKernel, TwoCallsHaveTheBitsOfOne) {
  for_each_shape([](const RowItems& s) {
    testing::Random random(s.count * 1000 + s.size);
    const std::vector<float> x = random.floats(s.rows * s.row_stride, -1, 1);
    const std::vector<float> items = random.floats(s.count * s.item_stride, -1, 1);
    std::vector<float> scores(s.rows * s.score_stride, kGuard), scores_of_two = scores;
    std::vector<float> y(s.rows * s.row_stride, kGuard), y_of_two = y;
    RowItems first = s, rest = s;
    first.count = s.count / 2 / kDotItems * kDotItems;
    rest.count = s.count - first.count;
    rest.adds = true;
    const float* others = items.data() + first.count * s.item_stride;
    dot_rows(s, x.data(), items.data(), scores.data());
    dot_rows(first, x.data(), items.data(), scores_of_two.data());
    dot_rows(rest, x.data(), others, scores_of_two.data() + first.count);
    EXPECT_EQ(scores, scores_of_two);
    weighted_rows(s, scores.data(), items.data(), y.data());
    weighted_rows(first, scores.data(), items.data(), y_of_two.data());
    weighted_rows(rest, scores.data() + first.count, others, y_of_two.data());
    EXPECT_EQ(y, y_of_two);
  });
}

INSTANTIATE_TEST_SUITE_P(Levels, RowsKernel, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
