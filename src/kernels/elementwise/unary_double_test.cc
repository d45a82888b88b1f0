#include "kernels/elementwise/unary_double.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

double reference(UnaryDouble f, double x) {
  if (f == UnaryDouble::sqrt) return std::sqrt(x);
  if (f == UnaryDouble::sign) return std::isnan(x) ? x : double(x > 0) - double(x < 0);
  return std::tanh(x);
}

// How many units in the last place of `expected`; 0 for equal values and for two NaN.
double distance(double y, double expected) {
  if (std::isnan(expected)) return std::isnan(y) ? 0 : 1e9;
  if (y == expected) return std::signbit(y) == std::signbit(expected) ? 0 : 1e9;
  return std::abs(y - expected) / (std::nextafter(std::abs(expected), INFINITY) - std::abs(expected));
}

class UnaryDoubleKernel : public testing::PerIsa {};

TEST_P(UnaryDoubleKernel, EqualsTheReference) {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kTiny = std::numeric_limits<double>::denorm_min();
  std::vector<double> x = {0.0,   -0.0,   kInf, -kInf, NAN, kTiny,  -kTiny, 1e-310,
                           1e-30, -1e-17, 1e-8, 19.99, 20,  -20.01, 1e300,  -4.0};
  for (double v = 1e-9; v < 50; v *= 1.003) x.insert(x.end(), {v, -v});
  for (const UnaryDouble f : {UnaryDouble::sqrt, UnaryDouble::sign, UnaryDouble::tanh}) {
    const double most = f == UnaryDouble::tanh ? 4 : 0;
    for (size_t n : {size_t(0), size_t(1), size_t(3), size_t(7), size_t(16), size_t(33), x.size()}) {
      std::vector<double> y(n + 1, -7);
      unary(f, std::span(x).first(n), std::span(y).first(n), three_threads());
      for (size_t i = 0; i < n; ++i)
        EXPECT_LE(distance(y[i], f == UnaryDouble::sqrt && x[i] < 0 ? NAN : reference(f, x[i])), most)
            << int(f) << " " << x[i] << " " << y[i];
      EXPECT_EQ(y[n], -7);
      std::vector<double> in_place(x.begin(), x.begin() + ptrdiff_t(n));
      unary(f, in_place, in_place, one_thread());
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(distance(in_place[i], y[i]), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, UnaryDoubleKernel, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
