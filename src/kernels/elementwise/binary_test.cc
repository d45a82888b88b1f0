#include "kernels/elementwise/binary.h"

#include <cmath>
#include <limits>

#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

using testing::Random;
using Dims = std::vector<int64_t>;

struct Shapes {
  Dims a, b, y;
};
const std::vector<Shapes> kShapes{
    {{}, {}, {}},
    {{1, 1}, {1}, {1, 1}},
    {{5}, {}, {5}},
    {{}, {35}, {35}},
    {{7, 33}, {33}, {7, 33}},
    {{7, 33}, {7, 1}, {7, 33}},
    {{7, 1}, {7, 33}, {7, 33}},
    {{2, 1, 5, 1}, {3, 1, 70}, {2, 3, 5, 70}},
    {{4, 5, 6}, {4, 5, 6}, {4, 5, 6}},
    {{2, 3, 4, 1, 2, 3}, {4, 5, 1, 1}, {2, 3, 4, 5, 2, 3}},
    {{1, 2, 1, 2, 1, 2, 1, 2, 1}, {3, 1, 2, 1, 2, 1, 2, 1, 2}, {3, 2, 2, 2, 2, 2, 2, 2, 2}},
    {{0, 3}, {1, 3}, {0, 3}},
    {{300, 201}, {201}, {300, 201}},
    {{300, 1}, {1, 201}, {300, 201}},
    {{7, 90, 101}, {7, 1, 101}, {7, 90, 101}},  // a task begins and ends inside rows of a plane
    {{3, 20001}, {3, 1}, {3, 20001}},           // a row has several tasks
    {{5, 1, 70, 1}, {1, 61, 1, 9}, {5, 61, 70, 9}},
    {{5501, 3}, {3}, {5501, 3}},  // short runs: a block begins in the middle of a run, and so does a task
    {{1, 7}, {2401, 7}, {2401, 7}},
    {{701, 64}, {64}, {701, 64}},
    {{1103, 3}, {1103, 1}, {1103, 3}},
    {{1, 7}, {2401, 1}, {2401, 7}},
    {{37, 1, 2}, {1, 329, 2}, {37, 329, 2}},
    {{1, 11, 1, 5}, {7, 1, 9, 1}, {7, 11, 9, 5}},
};

size_t count(const Dims& d) {
  size_t n = 1;
  for (int64_t e : d) n *= size_t(e);
  return n;
}

/// Offset of output element i in an operand of shape `s`.
size_t offset(const Dims& s, const Dims& y, size_t i) {
  size_t at = 0, stride = 1;
  for (size_t d = y.size(); d-- > 0;) {
    const size_t index = i % size_t(y[d]);
    i /= size_t(y[d]);
    if (d + s.size() < y.size()) continue;
    const int64_t extent = s[d + s.size() - y.size()];
    if (extent != 1) at += index * stride;
    stride *= size_t(extent);
  }
  return at;
}

double reference(Binary op, double a, double b) {
  const bool nan = std::isnan(a) || std::isnan(b);
  switch (op) {
    case Binary::add:
      return a + b;
    case Binary::sub:
      return a - b;
    case Binary::mul:
      return a * b;
    case Binary::div:
      return a / b;
    case Binary::min:
      return nan ? NAN : std::min(a, b);
    case Binary::max:
      return nan ? NAN : std::max(a, b);
    case Binary::pow:
      return std::pow(a, b);
    case Binary::prelu:
      return a < 0 ? a * b : a;
  }
  return 0;
}

constexpr int kOps = int(Binary::prelu) + 1;

class BinaryKernel : public testing::PerIsa {};

TEST_P(BinaryKernel, EveryOperationAndShape) {
  Random random(1);
  for (const Shapes& s : kShapes) {
    const auto plan = BroadcastPlan<2>::make({s.a, s.b});
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->count, count(s.y));
    const std::vector<float> a = random.floats(count(s.a), -3, 3), b = random.floats(count(s.b), -3, 3);
    for (int op = 0; op < kOps; ++op) {
      std::vector<float> y(plan->count + 1, 77.0f);
      binary(Binary(op), a.data(), b.data(), y.data(), *plan, three_threads());
      EXPECT_EQ(y[plan->count], 77.0f);
      for (size_t i = 0; i < plan->count; ++i) {
        const double want = reference(Binary(op), a[offset(s.a, s.y, i)], b[offset(s.b, s.y, i)]);
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(y[i]));
        } else {
          ASSERT_NEAR(y[i], want, 1.2e-7 * std::abs(want)) << "operation " << op << " element " << i;
        }
      }
    }
  }
}

TEST_P(BinaryKernel, DoublesHaveEveryDigit) {
  Random random(2);
  for (const Shapes& s : kShapes) {
    const auto plan = BroadcastPlan<2>::make({s.a, s.b});
    const std::vector<float> some = random.floats(count(s.a), -3, 3), others = random.floats(count(s.b), -3, 3);
    std::vector<double> a(some.begin(), some.end()), b(others.begin(), others.end());
    for (double& x : a) x *= 1.0 / 3;
    if (!a.empty()) a[a.size() / 2] = NAN;
    if (!b.empty()) b[b.size() / 3] = NAN;
    for (int op = 0; op < kOps; ++op) {
      std::vector<double> y(plan->count + 1, 77.0);
      binary(Binary(op), a.data(), b.data(), y.data(), *plan, three_threads());
      EXPECT_EQ(y[plan->count], 77.0);
      for (size_t i = 0; i < plan->count; ++i) {
        const double want = reference(Binary(op), a[offset(s.a, s.y, i)], b[offset(s.b, s.y, i)]);
        ASSERT_TRUE(y[i] == want || (std::isnan(y[i]) && std::isnan(want))) << "operation " << op << " element " << i;
      }
    }
  }
}

TEST_P(BinaryKernel, QuotientsOfIntegersAreExact) {
  std::vector<int32_t> a, b;
  for (const int32_t x : {0, 1, -1, 7, -7, 46341, INT32_MAX, INT32_MAX - 1, INT32_MIN, INT32_MIN + 1}) {
    for (const int32_t y : {0, 1, -1, 2, -2, 7, 46340, INT32_MAX, INT32_MAX - 1, INT32_MIN, INT32_MIN + 1}) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const Dims d{int64_t(a.size())};
  std::vector<int32_t> y(a.size());
  binary(Binary::div, a.data(), b.data(), y.data(), *BroadcastPlan<2>::make({d, d}), one_thread());
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t want = b[i] == 0 ? 0 : int64_t(a[i]) / b[i];
    EXPECT_EQ(y[i], int32_t(want)) << a[i] << " / " << b[i];
  }
}

TEST_P(BinaryKernel, NaNWinsInMinAndMax) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a{nan, 1, nan, 1, -2}, b{1, nan, nan, 2, -1};
  std::vector<float> y(5);
  const Dims d{5};
  const auto plan = BroadcastPlan<2>::make({d, d});
  for (const Binary op : {Binary::min, Binary::max}) {
    binary(op, a.data(), b.data(), y.data(), *plan, one_thread());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(y[size_t(i)]));
    EXPECT_EQ(y[3], op == Binary::min ? 1 : 2);
    EXPECT_EQ(y[4], op == Binary::min ? -2 : -1);
  }
}

TEST_P(BinaryKernel, PowOfCommonExponents) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> a{0.0f, -0.0f, inf, -inf, 2.25f, -3, 1e30f, 1e-30f};
  const Dims da{8}, scalar{};
  const auto plan = BroadcastPlan<2>::make({da, scalar});
  for (const float exponent : {2.0f, 3.0f, 0.5f, -1.0f, 0.0f, 1.0f, -0.5f}) {
    std::vector<float> y(a.size());
    binary(Binary::pow, a.data(), &exponent, y.data(), *plan, one_thread());
    for (size_t i = 0; i < a.size(); ++i) {
      const float want = float(std::pow(double(a[i]), double(exponent)));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(y[i])) << a[i] << " ^ " << exponent;
      } else if (std::isinf(want) || want == 0) {
        EXPECT_EQ(y[i], want) << a[i] << " ^ " << exponent;
        EXPECT_EQ(std::signbit(y[i]), std::signbit(want)) << a[i] << " ^ " << exponent;
      } else {
        EXPECT_NEAR(y[i] / want, 1, 2.5e-7) << a[i] << " ^ " << exponent;
      }
    }
  }
}

template <typename T>
void check_wrapping(const Parallel& par) {
  Random random(3);
  for (const Shapes& s : kShapes) {
    const auto plan = BroadcastPlan<2>::make({s.a, s.b});
    const auto some = [&](const Dims& d) {
      std::vector<T> v(count(d));
      for (T& x : v) x = T(uint64_t(random.bits()) << 32 | random.bits());
      return v;
    };
    const std::vector<T> a = some(s.a), b = some(s.b);
    for (const Binary op : {Binary::add, Binary::sub, Binary::mul}) {
      std::vector<T> y(plan->count + 1, T(77));
      wrapping_binary(op, sizeof(T), a.data(), b.data(), y.data(), *plan, par);
      EXPECT_EQ(y[plan->count], T(77));
      for (size_t i = 0; i < plan->count; ++i) {
        const auto one = uint64_t(a[offset(s.a, s.y, i)]), other = uint64_t(b[offset(s.b, s.y, i)]);
        ASSERT_EQ(y[i], T(op == Binary::add   ? one + other
                          : op == Binary::sub ? one - other
                                              : one * other))
            << "operation " << int(op) << " element " << i;
      }
    }
  }
}
TEST_P(BinaryKernel, IntegersOfAnySizeWrapAround) {
  check_wrapping<int8_t>(three_threads());
  check_wrapping<uint8_t>(three_threads());
  check_wrapping<uint16_t>(three_threads());
  check_wrapping<uint32_t>(three_threads());
  check_wrapping<uint64_t>(three_threads());
}

template <typename T>
void check_integers(const Parallel& par) {
  constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  std::vector<T> a, b;
  for (const T x : {T(0), T(1), T(-1), T(7), T(-7), kMin, kMax, T(3)}) {
    for (const T y : {T(0), T(1), T(-1), T(2), T(-2), kMin, kMax, T(5)}) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  const Dims d{int64_t(a.size())};
  const auto plan = BroadcastPlan<2>::make({d, d});
  const auto run = [&](Binary op) {
    std::vector<T> y(a.size());
    binary(op, a.data(), b.data(), y.data(), *plan, par);
    return y;
  };
  const auto sum = run(Binary::add), difference = run(Binary::sub), product = run(Binary::mul);
  const auto quotient = run(Binary::div), power = run(Binary::pow);
  for (size_t i = 0; i < a.size(); ++i) {
    __extension__ using Wide = __int128;
    const Wide x = a[i], y = b[i];
    EXPECT_EQ(sum[i], T(x + y));
    EXPECT_EQ(difference[i], T(x - y));
    EXPECT_EQ(product[i], T(x * y));
    EXPECT_EQ(quotient[i], y == 0 ? 0 : T(x / y));
    if (y == 2) {
      EXPECT_EQ(power[i], T(x * x));
    } else if (y == 0) {
      EXPECT_EQ(power[i], 1);
    } else if (y == -1) {
      EXPECT_EQ(power[i], x == 1 || x == -1 ? T(x) : 0);
    }
  }
}

TEST_P(BinaryKernel, IntegersWrapAndNeverTrap) {
  check_integers<int32_t>(one_thread());
  check_integers<int64_t>(one_thread());
}

TEST_P(BinaryKernel, IntegersBroadcast) {
  Random random(4);
  for (const Shapes& s : kShapes) {
    const auto plan = BroadcastPlan<2>::make({s.a, s.b});
    const auto a = random.integers<int64_t>(count(s.a), -9, 9), b = random.integers<int64_t>(count(s.b), -9, 9);
    for (const Binary op : {Binary::sub, Binary::max, Binary::prelu}) {
      std::vector<int64_t> y(plan->count);
      binary(op, a.data(), b.data(), y.data(), *plan, three_threads());
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i], reference(op, double(a[offset(s.a, s.y, i)]), double(b[offset(s.b, s.y, i)])));
      }
    }
  }
}

TEST_P(BinaryKernel, InPlace) {
  const Dims d{50001}, scalar{};
  std::vector<float> a = Random(5).floats(50001, -1, 1);
  const std::vector<float> before = a;
  const float two = 2;
  binary(Binary::mul, a.data(), &two, a.data(), *BroadcastPlan<2>::make({d, scalar}), three_threads());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], 2 * before[i]);
}

TEST(BroadcastPlan, MergesAdjacentDimensions) {
  const Dims a{8, 1, 3, 4, 5}, b{3, 4, 5};
  const auto plan = BroadcastPlan<2>::make({a, b});
  EXPECT_EQ(plan->rank, 2u);
  EXPECT_EQ(plan->extents[0], 8u);
  EXPECT_EQ(plan->extents[1], 60u);
  EXPECT_EQ(plan->strides[1][0], 0u);
}

TEST(BroadcastPlan, ReportsTooManyDimensions) {
  Dims a, b;
  for (int i = 0; i < 17; ++i) {
    a.push_back(i % 2 ? 2 : 1);
    b.push_back(i % 2 ? 1 : 2);
  }
  EXPECT_FALSE(BroadcastPlan<2>::make({a, b}));
  a.pop_back();
  b.pop_back();
  EXPECT_TRUE(BroadcastPlan<2>::make({a, b}));
}

INSTANTIATE_TEST_SUITE_P(Levels, BinaryKernel, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
