#include "kernels/elementwise/unary.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

using testing::Random;

double reference(const Unary& f, double x) {
  using enum Unary::Kind;
  switch (f.kind) {
    case neg:
      return -x;
    case abs:
      return std::abs(x);
    case sqrt:
      return std::sqrt(x);
    case reciprocal:
      return 1 / x;
    case exp:
      return std::exp(x);
    case log:
      return std::log(x);
    case sin:
      return std::sin(x);
    case cos:
      return std::cos(x);
    case asin:
      return std::asin(x);
    case acos:
      return std::acos(x);
    case atan:
      return std::atan(x);
    case erf:
      return std::erf(x);
    case floor:
      return std::floor(x);
    case ceil:
      return std::ceil(x);
    case round:
      return std::nearbyint(x);
    case sign:
      return std::isnan(x) ? x : double(x > 0) - double(x < 0);
    case elu:
      return x > 0 ? x : double(f.a) * std::expm1(x);
    case celu:
      return x > 0 ? x : double(f.a) * std::expm1(x / double(f.a));
    case selu:
      return double(f.b) * (x > 0 ? x : double(f.a) * std::expm1(x));
    case softplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case mish:
      return x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))));
    case scaled_silu:
      return x / (1 + std::exp(-double(f.a) * x));
  }
  return 0;
}

constexpr int kKinds = int(Unary::Kind::scaled_silu) + 1;

class UnaryKernel : public testing::PerIsa {};

TEST_P(UnaryKernel, EveryFunctionAtEverySize) {
  Random random(1);
  for (int kind = 0; kind < kKinds; ++kind) {
    const Unary f{Unary::Kind(kind), 1.25f, 0.75f};
    for (const size_t n : testing::test_sizes()) {
      const std::vector<float> x = random.floats(n + 1, -9.5f, 9.5f);
      std::vector<float> y(n + 1, 77.0f);
      unary(f, std::span(x).subspan(1), std::span(y).first(n), one_thread());
      EXPECT_EQ(y[n], 77.0f) << "wrote beyond the end";
      for (size_t i = 0; i < n; ++i) {
        const double want = reference(f, x[i + 1]);
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(y[i]));
        } else {
          ASSERT_NEAR(y[i], want, 1e-6 * std::abs(want) + 1e-30) << "kind " << kind << " of " << x[i + 1];
        }
      }
    }
  }
}

TEST_P(UnaryKernel, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{0.0f, -0.0f, inf,   -inf,   nan,    0.5f,   1.5f,
                             2.5f, -2.5f, 1e38f, -1e38f, 1e-40f, -88.0f, 88.0f};
  for (int kind = 0; kind < kKinds; ++kind) {
    const Unary f{Unary::Kind(kind)};
    std::vector<float> y(x.size());
    unary(f, x, y, one_thread());
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = reference(f, x[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(y[i])) << "kind " << kind << " of " << x[i];
      } else if (std::isinf(float(want))) {
        EXPECT_EQ(y[i], float(want)) << "kind " << kind << " of " << x[i];
      } else {
        EXPECT_NEAR(y[i], want, 4e-7 * std::abs(want) + 1e-37) << "kind " << kind << " of " << x[i];
      }
    }
  }
}

TEST_P(UnaryKernel, RoundsHalfToEven) {
  const std::vector<float> x{0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 8388609.0f, 0.49999997f};
  std::vector<float> y(x.size());
  unary({Unary::Kind::round}, x, y, one_thread());
  EXPECT_EQ(y, (std::vector<float>{0, 2, 2, 0, -2, 8388609, 0}));
}

TEST_P(UnaryKernel, SmallEluAndSoftplusKeepTheirDigits) {
  const std::vector<float> x{-1e-6f, -1e-20f, -30.0f, -60.0f};
  std::vector<float> y(x.size());
  unary({Unary::Kind::elu}, x, y, one_thread());
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(y[i] / std::expm1(double(x[i])), 1, 4e-7);
  unary({Unary::Kind::softplus}, x, y, one_thread());
  for (size_t i = 2; i < 4; ++i) EXPECT_NEAR(y[i] / std::log1p(std::exp(double(x[i]))), 1, 4e-7);
}

TEST_P(UnaryKernel, SameBitsInPlaceAndWithThreads) {
  const std::vector<float> x = Random(2).floats(100003, -20, 20);
  for (const Unary::Kind kind : {Unary::Kind::exp, Unary::Kind::mish, Unary::Kind::sin}) {
    std::vector<float> y(x.size()), z = x;
    unary({kind}, x, y, one_thread());
    unary({kind}, z, z, three_threads());
    EXPECT_EQ(y, z);
  }
  std::vector<float> y(x.size()), z = x;
  activate({Activation::Kind::gelu_erf}, x, y, one_thread());
  activate({Activation::Kind::gelu_erf}, z, z, three_threads());
  EXPECT_EQ(y, z);
}

// From 32 MiB on, results are written past the caches.
TEST_P(UnaryKernel, LargeResultsHaveTheSameBits) {
  const size_t n = (size_t(8) << 20) + 77;
  std::vector<float> x(n), z;
  for (size_t i = 0; i < n; ++i) x[i] = float(int(i % 4001) - 2000) / 100;
  z = x;
  const std::unique_ptr<float[], decltype(&std::free)> memory(
      static_cast<float*>(std::aligned_alloc(64, (n + 16) / 16 * 64)), &std::free);
  const std::span<float> y(memory.get(), n);
  memory[n] = 77.0f;
  unary({Unary::Kind::exp}, x, y, three_threads());
  unary({Unary::Kind::exp}, z, z, one_thread());
  EXPECT_TRUE(std::equal(y.begin(), y.end(), z.begin()));
  EXPECT_EQ(memory[n], 77.0f) << "wrote beyond the end";
  activate({Activation::Kind::gelu_erf}, x, y, three_threads());
  z = x;
  activate({Activation::Kind::gelu_erf}, z, z, one_thread());
  EXPECT_TRUE(std::equal(y.begin(), y.end(), z.begin()));
}

TEST_P(UnaryKernel, ActivationsKeepParametersAndTails) {
  const std::vector<float> x = Random(3).floats(35, -4, 4);
  std::vector<float> y(x.size());
  activate({Activation::Kind::hard_swish, 1.0f / 6, 0.5f}, x, y, one_thread());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(y[i], x[i] * std::clamp(x[i] / 6 + 0.5f, 0.0f, 1.0f), 1e-6);
  }
  activate({Activation::Kind::clip, -1, 2}, x, y, one_thread());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], std::clamp(x[i], -1.0f, 2.0f));
}

// Whole blocks of vectors, vectors that overlap, and less than a vector, also in place; nothing is written beyond.
TEST_P(UnaryKernel, Lengths) {
  const std::vector<float> x = Random(4).floats(200, -4, 4);
  std::vector<float> whole(x.size());
  activate({Activation::Kind::tanh}, x, whole, one_thread());
  for (size_t n = 0; n <= x.size(); ++n) {
    std::vector<float> y = x;
    const std::span<float> first(y.data(), n);
    activate({Activation::Kind::tanh}, first, first, one_thread());
    EXPECT_TRUE(std::equal(first.begin(), first.end(), whole.begin())) << n;
    EXPECT_TRUE(std::equal(y.begin() + ptrdiff_t(n), y.end(), x.begin() + ptrdiff_t(n))) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, UnaryKernel, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
