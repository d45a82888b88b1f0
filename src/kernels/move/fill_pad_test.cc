#include <cmath>

#include "kernels/move/fill.h"
#include "kernels/move/move_testing.h"
#include "kernels/move/pad.h"
#include "kernels/move/sequence.h"

namespace retort::kernels {
namespace {

using testing::coordinates;
using testing::count;
using testing::Dims;
using testing::numbered;
using testing::Random;

template <typename T>
class PadKernel : public testing::MoveKernel<T> {};
TYPED_TEST_SUITE(PadKernel, testing::ElementTypes);

/// Position along one dimension, computed element by element: first crop, then pad. -1 in constant padding.
int64_t padded_source(PadMode mode, int64_t i, int64_t extent, int64_t before, int64_t after) {
  const int64_t first = before < 0 ? -before : 0, n = extent - first - (after < 0 ? -after : 0);
  int64_t k = i - (before > 0 ? before : 0);
  if (mode == PadMode::constant && (k < 0 || k >= n)) return -1;
  if (mode == PadMode::edge) k = k < 0 ? 0 : k >= n ? n - 1 : k;
  while (mode == PadMode::wrap && k < 0) k += n;
  while (mode == PadMode::wrap && k >= n) k -= n;
  while (mode == PadMode::reflect && (k < 0 || k >= n)) k = n == 1 ? 0 : k < 0 ? -k : 2 * (n - 1) - k;
  return first + k;
}

TYPED_TEST(PadKernel, EveryModeAndShape) {
  struct Case {
    Dims shape, before, after;
  };
  for (const Case& c :
       {Case{{5}, {2}, {3}}, Case{{3}, {7}, {8}}, Case{{4, 5}, {0, 0}, {0, 0}}, Case{{4, 5}, {1, 0}, {2, 0}},
        Case{{2, 3, 6, 7}, {0, 0, 1, 2}, {0, 0, 3, 1}}, Case{{2, 6, 7, 3}, {0, 1, 2, 0}, {0, 3, 1, 0}},
        Case{{6, 7}, {-2, 1}, {1, -3}}, Case{{6, 7}, {-1, -1}, {-1, -2}}, Case{{1, 4}, {3, 0}, {2, 5}},
        Case{{3, 70, 70}, {0, 3, 3}, {0, 3, 3}}, Case{{3}, {20}, {30}}, Case{{1}, {9}, {5}},
        Case{{2, 3}, {1, 31}, {1, 17}}, Case{{2, 5}, {40, 0}, {3, 0}}, Case{{2, 9}, {0, 40}, {0, 2}},
        Case{{}, {}, {}}}) {
    const auto x = numbered<TypeParam>(count(c.shape));
    const TypeParam value = testing::element<TypeParam>(99);
    Dims out;
    for (size_t d = 0; d < c.shape.size(); ++d) out.push_back(c.before[d] + c.shape[d] + c.after[d]);
    for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap}) {
      std::vector<TypeParam> y(count(out) + 1);
      ASSERT_TRUE(pad(this->mover(), {c.shape, c.before, c.after, mode, &value}, x.data(), y.data(), this->par()));
      EXPECT_EQ(y.back(), TypeParam());
      for (size_t i = 0; i + 1 < y.size(); ++i) {
        Dims at = coordinates(i, out);
        bool constant = false;
        for (size_t d = 0; d < at.size(); ++d) {
          at[d] = padded_source(mode, at[d], c.shape[d], c.before[d], c.after[d]);
          constant = constant || at[d] < 0;
        }
        ASSERT_EQ(y[i], constant ? value : x[testing::offset(at, c.shape)]) << "mode " << int(mode) << " element " << i;
      }
    }
  }
}

TYPED_TEST(PadKernel, FillsAndOneHot) {
  const TypeParam value = testing::element<TypeParam>(5), off = testing::element<TypeParam>(1);
  std::vector<TypeParam> y(40001);
  fill(this->mover(), &value, y.data(), 40000, this->par());
  for (size_t i = 0; i < 40000; ++i) ASSERT_EQ(y[i], value);
  EXPECT_EQ(y.back(), TypeParam());

  const std::vector<int64_t> indices{0, 3, -1, 4, -5, 2};
  const OneHot args{.outer = 2, .depth = 4, .inner = 3, .indices = indices.data(), .off = &off, .on = &value};
  one_hot(this->mover(), args, y.data(), this->par());
  for (size_t o = 0; o < 2; ++o) {
    for (int64_t d = 0; d < 4; ++d) {
      for (size_t i = 0; i < 3; ++i) {
        const int64_t k = indices[o * 3 + i];
        ASSERT_EQ(y[(o * 4 + size_t(d)) * 3 + i], k == d || k + 4 == d ? value : off);
      }
    }
  }
}

TEST(Triangle, UpperAndLower) {
  const std::pair<size_t, size_t> sizes[] = {{4, 5}, {40, 3}, {3, 40}, {7000, 3}};  // rows, columns
  for (const auto& [rows, columns] : sizes) {
    const auto x = numbered<uint16_t>(2 * rows * columns);
    for (const bool upper : {true, false}) {
      for (const int64_t k :
           {int64_t(-9), int64_t(-2), int64_t(0), int64_t(1), int64_t(4), int64_t(9), INT64_MAX, INT64_MIN}) {
        std::vector<uint16_t> y(x.size(), 7), z = x;
        const Triangle args{2, rows, columns, k, upper, 2};
        triangle(args, x.data(), y.data(), Parallel());
        triangle(args, z.data(), z.data(), Parallel());
        EXPECT_EQ(y, z);
        for (size_t i = 0; i < x.size(); ++i) {
          const int64_t distance = int64_t(i % columns) - int64_t(i / columns % rows);
          ASSERT_EQ(y[i], (upper ? distance >= k : distance <= k) ? x[i] : 0) << rows << ' ' << k << ' ' << i;
        }
      }
    }
  }
}

TEST(Sequence, Range) {
  std::vector<float> f(5);
  range(1.0f, 0.5f, std::span(f));
  EXPECT_EQ(f, (std::vector<float>{1, 1.5f, 2, 2.5f, 3}));
  std::vector<int64_t> i(4);
  range(int64_t(10), int64_t(-3), std::span(i));
  EXPECT_EQ(i, (std::vector<int64_t>{10, 7, 4, 1}));
  std::vector<int16_t> wrapped(2);
  range(int16_t(32767), int16_t(1), std::span(wrapped));
  EXPECT_EQ(wrapped[1], -32768);
}

TEST(Sequence, RunningTotalsInAllForms) {
  for (const auto& [extent, inner] : std::vector<std::pair<size_t, size_t>>{
           {5, 1}, {1, 3}, {2, 3}, {5, 3}, {6, 3}, {5, 64}, {6, 64}, {5, 1030}, {4, 1030}}) {
    const auto x = Random(1).integers<int64_t>(2 * extent * inner, -9, 9);
    for (int form = 0; form < 4; ++form) {
      const Running args{2, extent, inner, bool(form & 1), bool(form & 2)};
      std::vector<int64_t> sums(x.size()), products(x.size());
      running_sum(args, x.data(), sums.data(), Parallel());
      running_product(args, x.data(), products.data(), Parallel());
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t k = i / inner % extent;
        int64_t sum = 0, product = 1;
        for (size_t j = 0; j < extent; ++j) {
          const bool before = args.reverse ? j > k : j < k;
          if (!before && (j != k || args.exclusive)) continue;
          const int64_t element = x[i / (extent * inner) * extent * inner + j * inner + i % inner];
          sum += element;
          product *= element;
        }
        ASSERT_EQ(sums[i], sum);
        ASSERT_EQ(products[i], product);
      }
    }
  }
  const std::vector<int64_t> large{INT64_MAX, 2};
  std::vector<int64_t> y(2);
  running_sum({1, 2, 1}, large.data(), y.data(), Parallel());
  EXPECT_EQ(y[1], INT64_MIN + 1);
  running_product({1, 2, 1}, large.data(), y.data(), Parallel());
  EXPECT_EQ(y[1], -2);
}

TEST(Sequence, NonZero) {
  const std::vector<float> x{0, -0.0f, 1, std::nanf(""), 0, -2};
  const Dims shape{2, 3};
  const size_t n = count_nonzero(std::span(x));
  ASSERT_EQ(n, 3u);
  std::vector<int64_t> y(2 * n);
  nonzero(std::span(x), shape, n, y.data());
  EXPECT_EQ(y, (std::vector<int64_t>{0, 1, 1, 2, 0, 2}));
  const std::vector<uint8_t> scalar{1};
  int64_t zero = 7;
  nonzero(std::span(scalar), {}, count_nonzero(std::span(scalar)), &zero);
  EXPECT_EQ(zero, 0);
}

}  // namespace
}  // namespace retort::kernels
