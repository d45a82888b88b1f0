#include "kernels/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

using testing::Random;
using Dims = std::vector<int64_t>;

constexpr int kOps = int(Reduce::log_sum_exp) + 1;
constexpr float kInf = std::numeric_limits<float>::infinity();

size_t count(const Dims& d) {
  size_t n = 1;
  for (const int64_t e : d) n *= size_t(e);
  return n;
}

/// The elements of each output, in row-major order.
template <typename T>
std::vector<std::vector<T>> groups(const std::vector<T>& x, const Dims& shape, const Dims& axes) {
  const auto reduced = [&](size_t d) { return std::find(axes.begin(), axes.end(), int64_t(d)) != axes.end(); };
  size_t outputs = 1;
  for (size_t d = 0; d < shape.size(); ++d) outputs *= reduced(d) ? 1 : size_t(shape[d]);
  std::vector<std::vector<T>> result(outputs);
  for (size_t i = 0; i < x.size(); ++i) {
    size_t rest = i, output = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      if (!reduced(d)) {
        output += rest % size_t(shape[d]) * stride;
        stride *= size_t(shape[d]);
      }
      rest /= size_t(shape[d]);
    }
    result[output].push_back(x[i]);
  }
  return result;
}

template <typename T>
double reference(Reduce op, const std::vector<T>& v) {
  double sum = 0, prod = 1, abs = 0, square = 0, max = -INFINITY, min = INFINITY, exp = 0;
  bool nan = false;
  for (const T e : v) {
    const double x = double(e);
    sum += x;
    prod *= x;
    abs += std::abs(x);
    square += x * x;
    max = std::max(max, x);
    min = std::min(min, x);
    nan = nan || std::isnan(x);
  }
  for (const T e : v) exp += std::exp(double(e) - (std::isfinite(max) ? max : 0));
  switch (op) {
    case Reduce::sum:
      return sum;
    case Reduce::mean:
      return sum / double(v.size());
    case Reduce::prod:
      return prod;
    case Reduce::max:
      return nan ? NAN : max;
    case Reduce::min:
      return nan ? NAN : min;
    case Reduce::l1:
      return abs;
    case Reduce::l2:
      return std::sqrt(square);
    case Reduce::sum_square:
      return square;
    case Reduce::log_sum:
      return std::log(sum);
    case Reduce::log_sum_exp:
      return std::log(exp) + (std::isfinite(max) ? max : 0);
  }
  return 0;
}

const std::vector<std::pair<Dims, Dims>> kCases{
    {{}, {}},
    {{5}, {0}},
    {{1, 1}, {0, 1}},
    {{7, 33}, {1}},
    {{7, 33}, {0}},
    {{7, 33}, {}},
    {{7, 33}, {1, 0}},
    {{3, 4, 5}, {1}},
    {{2, 3, 100, 7}, {2}},
    {{2, 3, 4, 5, 6}, {0, 2, 4}},
    {{2, 3, 4, 5, 6}, {1, 3}},
    {{4, 1, 70, 1, 65}, {2, 3}},
    {{600, 3}, {0}},
    {{2, 70, 130}, {1}},
    {{3, 50, 2, 301}, {0, 1}},
    {{90, 1000}, {1}},
    {{50000}, {0}},
    {{3, 0, 4}, {1}},
    {{3, 0}, {1}},
    {{0, 3}, {1}},
};

class ReduceKernel : public testing::PerIsa {
 protected:
  std::vector<float> run(Reduce op, const std::vector<float>& x, const Dims& shape, const Dims& axes) {
    const auto plan = ReducePlan::make(shape, axes);
    std::vector<float> y(plan->outputs + 1, 77.0f);
    reduce(op, x.data(), y.data(), *plan, three_threads());
    EXPECT_EQ(y.back(), 77.0f);
    y.pop_back();
    std::vector<float> serial(y.size());
    reduce(op, x.data(), serial.data(), *plan, one_thread());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_TRUE(y[i] == serial[i] || std::isnan(y[i]));
    return y;
  }
};

TEST_P(ReduceKernel, EveryOperationAndShape) {
  Random random(1);
  for (const auto& [shape, axes] : kCases) {
    for (int op = 0; op < kOps; ++op) {
      const bool positive = Reduce(op) == Reduce::log_sum || Reduce(op) == Reduce::prod;
      const auto x = random.floats(count(shape), positive ? 0.97f : -2.0f, positive ? 1.03f : 3.0f);
      const auto y = run(Reduce(op), x, shape, axes);
      const auto members = groups(x, shape, axes);
      ASSERT_EQ(y.size(), members.size());
      for (size_t i = 0; i < y.size(); ++i) {
        const double want = reference(Reduce(op), members[i]);
        if (!std::isfinite(want)) {
          ASSERT_TRUE(std::isnan(want) ? std::isnan(y[i]) : double(y[i]) == want) << "operation " << op;
          continue;
        }
        const double scale = Reduce(op) == Reduce::prod ? want * std::sqrt(double(members[i].size()))
                                                        : reference(Reduce::l1, members[i]) / double(members[i].size());
        const double sums = Reduce(op) == Reduce::sum ? double(members[i].size()) : 1;
        ASSERT_NEAR(y[i], want, 6e-7 * std::max({std::abs(want), scale * sums, 1e-3})) << "operation " << op;
      }
    }
  }
}

TEST_P(ReduceKernel, LongSumsKeepTheirDigits) {
  const size_t n = 3000000;
  const std::vector<float> x(n, 0.1f);
  const double want = double(0.1f) * double(n);
  EXPECT_NEAR(run(Reduce::sum, x, {int64_t(n)}, {0})[0] / want, 1, 1e-6);
  EXPECT_NEAR(run(Reduce::sum, x, {int64_t(n / 2), 2}, {0})[1] / (want / 2), 1, 3e-6);
  EXPECT_NEAR(run(Reduce::mean, x, {int64_t(n / 3), 3}, {0})[1] / double(0.1f), 1, 3e-6);
}

// Lanes are multiplied in double: products of some of them are infinite, or 0, in float.
TEST_P(ReduceKernel, ProductsOfLargeAndSmallLanes) {
  for (const int64_t n : {2, 3, 4}) {  // no more than a vector has at any level
    std::vector<float> x(size_t(3 * n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = i % 2 ? 1e-30f : 1e30f;
    const std::vector<float> y = run(Reduce::prod, x, {3, n}, {1});
    for (int64_t i = 0; i < 3; ++i) {
      const float first = x[size_t(i * n)];
      EXPECT_NEAR(y[size_t(i)] / (n % 2 ? first : 1), 1, 1e-5) << n;
    }
  }
}

TEST_P(ReduceKernel, NaNAndInfinities) {
  auto x = Random(2).floats(4 * 40, -1, 1);
  x[5] = NAN;
  x[50] = kInf;
  std::fill_n(x.begin() + 80, 40, -kInf);
  x[130] = -kInf;
  std::vector<float> transposed(x.size());
  for (size_t r = 0; r < 4; ++r) {
    for (size_t k = 0; k < 40; ++k) transposed[k * 4 + r] = x[r * 40 + k];
  }
  for (const Reduce op : {Reduce::max, Reduce::min, Reduce::log_sum_exp, Reduce::sum}) {
    const auto rows = run(op, x, {4, 40}, {1}), columns = run(op, transposed, {40, 4}, {0});
    const auto members = groups(x, {4, 40}, {1});
    for (size_t i = 0; i < 4; ++i) {
      const double want = reference(op, members[i]);
      for (const float got : {rows[i], columns[i]}) {
        if (std::isfinite(want)) {
          EXPECT_NEAR(got, want, 1e-5);
        } else {
          EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : double(got) == want)
              << int(op) << " row " << i << ": " << got;
        }
      }
    }
  }
}

// Rows that fill no vector or a few, in more than one block of rows; NaN in every place of a vector.
TEST_P(ReduceKernel, ShortRows) {
  constexpr int64_t kRows = 131;
  Random random(4);
  for (int64_t n = 1; n <= 70; ++n) {
    auto x = random.floats(size_t(kRows * n), 0.9f, 1.1f);
    for (const Reduce op : {Reduce::max, Reduce::min, Reduce::mean, Reduce::prod, Reduce::l2, Reduce::log_sum_exp}) {
      const auto members = groups(x, {kRows, n}, {1});
      const auto y = run(op, x, {kRows, n}, {1});
      for (size_t i = 0; i < members.size(); ++i) {
        const double want = reference(op, members[i]);
        ASSERT_NEAR(y[i], want, 2e-6 * std::max(1.0, std::abs(want))) << "operation " << int(op) << " n " << n;
      }
    }
    for (const Reduce op : {Reduce::max, Reduce::min}) {
      for (int64_t i = 0; i < n; ++i) x[size_t((i + 1) * n + i)] = NAN;
      const auto y = run(op, x, {kRows, n}, {1});
      for (int64_t i = 0; i < kRows; ++i) ASSERT_EQ(std::isnan(y[size_t(i)]), i > 0 && i <= n) << "n " << n;
    }
  }
}

template <typename T>
void check_integers(const Parallel& par, int64_t low, int64_t high) {
  Random random(3);
  for (const auto& [shape, axes] : kCases) {
    const auto plan = ReducePlan::make(shape, axes);
    const auto x = random.integers<T>(count(shape), low, high);
    const auto members = groups(x, shape, axes);
    for (int op = 0; op < kOps; ++op) {
      if (Reduce(op) == Reduce::prod && count(shape) > 100) continue;  // the reference cannot wrap
      std::vector<T> y(plan->outputs);
      reduce(Reduce(op), x.data(), y.data(), *plan, par);
      for (size_t i = 0; i < y.size(); ++i) {
        double want = reference(Reduce(op), members[i]);
        if (std::isnan(want)) want = Reduce(op) == Reduce::mean ? 0 : double(std::numeric_limits<T>::min());
        want = std::clamp(want, double(std::numeric_limits<T>::min()), double(std::numeric_limits<T>::max()));
        ASSERT_NEAR(double(y[i]), std::trunc(want), 1e-9 * std::abs(want)) << op << " " << i;
      }
    }
  }
}

TEST_P(ReduceKernel, Doubles) {
  Random random(4);
  for (const auto& [shape, axes] : kCases) {
    const auto plan = ReducePlan::make(shape, axes);
    const auto floats = random.floats(count(shape), -2, 3), near_one = random.floats(count(shape), 0.98f, 1.02f);
    for (int op = 0; op < kOps; ++op) {
      const auto& from = Reduce(op) == Reduce::prod || Reduce(op) == Reduce::log_sum ? near_one : floats;
      std::vector<double> x(from.begin(), from.end());
      for (double& v : x) v += 1e-9;  // not representable as float
      const auto members = groups(x, shape, axes);
      std::vector<double> y(plan->outputs + 1, 77), serial(plan->outputs);
      reduce(Reduce(op), x.data(), y.data(), *plan, three_threads());
      reduce(Reduce(op), x.data(), serial.data(), *plan, one_thread());
      EXPECT_EQ(77, y.back());
      for (size_t i = 0; i < serial.size(); ++i) {
        const double want = reference(Reduce(op), members[i]);
        EXPECT_TRUE(y[i] == serial[i] || std::isnan(y[i]));
        if (!std::isfinite(want))
          EXPECT_TRUE(std::isnan(want) ? std::isnan(y[i]) : y[i] == want);
        else
          ASSERT_NEAR(y[i], want, 1e-12 * (1 + reference(Reduce::sum_square, members[i]))) << op << " " << i;
      }
    }
  }
}

TEST_P(ReduceKernel, NaNOfDoublesSticks) {
  for (size_t at = 0; at < 37; ++at) {
    std::vector<double> x(3 * 37, at % 2 ? 1 : INFINITY);
    x[37 + at] = NAN;
    for (const Reduce op : {Reduce::max, Reduce::min, Reduce::sum}) {
      double rows[3] = {}, columns[37] = {};
      reduce(op, x.data(), rows, *ReducePlan::make(Dims{3, 37}, Dims{1}), one_thread());
      reduce(op, x.data(), columns, *ReducePlan::make(Dims{3, 37}, Dims{0}), one_thread());
      for (size_t i = 0; i < 3; ++i) EXPECT_EQ(i == 1, std::isnan(rows[i]));
      for (size_t i = 0; i < 37; ++i) EXPECT_EQ(i == at, std::isnan(columns[i]));
    }
  }
}

TEST_P(ReduceKernel, Integers) {
  check_integers<int64_t>(three_threads(), -9, 9);
  check_integers<int32_t>(three_threads(), -9, 9);
  check_integers<uint32_t>(three_threads(), 0, 9);
  const std::vector<int32_t> large{INT32_MAX, 1, INT32_MIN, -1, INT32_MIN};
  int32_t sum = 0, extreme = 0;
  const auto plan = ReducePlan::make(Dims{5}, Dims{0});
  reduce(Reduce::sum, large.data(), &sum, *plan, one_thread());
  EXPECT_EQ(sum, INT32_MAX);  // wrapped
  reduce(Reduce::min, large.data(), &extreme, *plan, one_thread());
  EXPECT_EQ(extreme, INT32_MIN);
}

template <typename T>
void check_extremes(const Parallel& par, int64_t low, int64_t high) {
  for (const auto& [shape, axes] :
       std::vector<std::pair<Dims, Dims>>{{{70, 131}, {0}}, {{3, 33, 5}, {1}}, {{7, 33}, {1}}}) {
    const auto plan = ReducePlan::make(shape, axes);
    const auto x = Random(3).integers<T>(count(shape), low, high);
    const auto members = groups(x, shape, axes);
    std::vector<T> largest(plan->outputs), smallest(plan->outputs);
    reduce(Reduce::max, x.data(), largest.data(), *plan, par);
    reduce(Reduce::min, x.data(), smallest.data(), *plan, par);
    for (size_t i = 0; i < members.size(); ++i) {
      ASSERT_EQ(largest[i], *std::max_element(members[i].begin(), members[i].end()));
      ASSERT_EQ(smallest[i], *std::min_element(members[i].begin(), members[i].end()));
    }
  }
}

TEST_P(ReduceKernel, ExtremesOfBytes) {
  check_extremes<int8_t>(three_threads(), -128, 127);
  check_extremes<uint8_t>(three_threads(), 0, 255);
}

TEST(ReducePlan, MergesNeighbours) {
  const auto plan = ReducePlan::make(Dims{2, 3, 1, 4, 5, 6}, Dims{3, 4, 2});
  EXPECT_EQ(plan->kept.rank, 2u);
  EXPECT_EQ(plan->kept.extents[0], 6u);
  EXPECT_EQ(plan->reduced.rank, 1u);
  EXPECT_EQ(plan->reduced.extents[0], 20u);
  EXPECT_EQ(plan->reduced.strides[0], 6u);
  EXPECT_FALSE(plan->rows);
  EXPECT_FALSE(ReducePlan::make(Dims(18, 2), Dims{0, 2, 4, 6, 8, 10, 12, 14, 16}));
}

template <typename T>
void check_arg(const std::vector<T>& x, size_t outer, size_t extent, size_t inner, const Parallel& par) {
  for (int form = 0; form < 4; ++form) {
    const ArgReduce args{outer, extent, inner, bool(form & 1), bool(form & 2)};
    std::vector<int64_t> y(outer * inner, -1);
    arg_reduce(args, x.data(), y.data(), par);
    for (size_t o = 0; o < outer; ++o) {
      for (size_t i = 0; i < inner; ++i) {
        const auto at = [&](size_t k) { return x[(o * extent + k) * inner + i]; };
        size_t best = 0;
        for (size_t k = 1; k < extent; ++k) {
          const bool better = args.min ? at(k) < at(best) : at(k) > at(best);
          if (better || (args.last && at(k) == at(best))) best = k;
        }
        ASSERT_EQ(y[o * inner + i], int64_t(best)) << "form " << form;
      }
    }
  }
}

TEST_P(ReduceKernel, ArgMinAndMax) {
  Random random(5);
  for (const size_t extent : {1, 2, 15, 16, 17, 31, 33, 200}) {
    for (const size_t inner : {1, 3, 64, 100}) {
      check_arg(random.integers<float>(3 * extent * inner, 0, 20), 3, extent, inner, three_threads());
      check_arg(random.integers<int64_t>(3 * extent * inner, -20, 20), 3, extent, inner, three_threads());
      check_arg(random.integers<uint8_t>(3 * extent * inner, 0, 255), 3, extent, inner, three_threads());
    }
  }
  for (const size_t extent : {1, 5, 31, 32, 63, 64}) {  // in more than one block of rows
    check_arg(random.integers<float>(150 * extent, 0, 20), 150, extent, 1, three_threads());
    check_arg(random.integers<int64_t>(150 * extent, 0, 20), 150, extent, 1, three_threads());
    check_arg(random.integers<int8_t>(150 * extent, 0, 20), 150, extent, 1, three_threads());
    auto x = random.floats(150 * extent, -1, 1);
    for (size_t i = 0; i < x.size(); i += 7) x[i] = NAN;
    check_arg(x, 150, extent, 1, three_threads());
  }
  check_arg(random.floats(70000, -1, 1), 7, 10000, 1, three_threads());
  for (const size_t place : {0, 1, 14, 20, 31, 32, 39}) {
    auto x = random.floats(40, -1, 1);
    x[place] = NAN;
    check_arg(x, 1, 40, 1, one_thread());
    check_arg(x, 1, 20, 2, one_thread());
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ReduceKernel, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
