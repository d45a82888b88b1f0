// Tests the functions of simd_math.h and simd_trig.h against double precision, at every level, with a stride through
// all 2^32 floats. RETORT_MATH_STRIDE=1 makes it exhaustive (minutes).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/simd_math_test.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/elementwise/simd_trig.h"
#include "kernels/simd_math.h"

#ifndef RETORT_SIMD_MATH_TEST_FUNCTIONS
#define RETORT_SIMD_MATH_TEST_FUNCTIONS
namespace retort::kernels {
enum class MathFn {
  exp,
  exp_non_positive,
  log,
  tanh,
  sigmoid,
  silu,
  erf,
  gelu_erf,
  gelu_tanh,
  sin,
  cos,
  asin,
  acos,
  atan
};
}
#endif

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

template <MathFn kFn, class D, class V>
HWY_INLINE V Evaluate(D d, V x) {
  if constexpr (kFn == MathFn::exp) return Exp(d, x);
  if constexpr (kFn == MathFn::exp_non_positive) return ExpNonPositive(d, x);
  if constexpr (kFn == MathFn::log) return Log(d, x);
  if constexpr (kFn == MathFn::tanh) return Tanh(d, x);
  if constexpr (kFn == MathFn::sigmoid) return Sigmoid(d, x);
  if constexpr (kFn == MathFn::silu) return Silu(d, x);
  if constexpr (kFn == MathFn::erf) return Erf(d, x);
  if constexpr (kFn == MathFn::gelu_erf) return GeluErf(d, x);
  if constexpr (kFn == MathFn::gelu_tanh) return GeluTanh(d, x);
  if constexpr (kFn == MathFn::sin) return Sin(d, x);
  if constexpr (kFn == MathFn::cos) return Cos(d, x);
  if constexpr (kFn == MathFn::asin) return Asin(d, x);
  if constexpr (kFn == MathFn::acos) return Acos(d, x);
  if constexpr (kFn == MathFn::atan) return Atan(d, x);
}

template <MathFn kFn>
void map(const float* x, float* y, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(Evaluate<kFn>(d, hn::LoadU(d, x + i)), d, y + i);
  if (i < n) StoreFirst(d, Evaluate<kFn>(d, LoadFirst(d, x + i, n - i)), y + i, n - i);
}

void evaluate(MathFn fn, const float* x, float* y, size_t n) {
  switch (fn) {
    case MathFn::exp:
      return map<MathFn::exp>(x, y, n);
    case MathFn::exp_non_positive:
      return map<MathFn::exp_non_positive>(x, y, n);
    case MathFn::log:
      return map<MathFn::log>(x, y, n);
    case MathFn::tanh:
      return map<MathFn::tanh>(x, y, n);
    case MathFn::sigmoid:
      return map<MathFn::sigmoid>(x, y, n);
    case MathFn::silu:
      return map<MathFn::silu>(x, y, n);
    case MathFn::erf:
      return map<MathFn::erf>(x, y, n);
    case MathFn::gelu_erf:
      return map<MathFn::gelu_erf>(x, y, n);
    case MathFn::gelu_tanh:
      return map<MathFn::gelu_tanh>(x, y, n);
    case MathFn::sin:
      return map<MathFn::sin>(x, y, n);
    case MathFn::cos:
      return map<MathFn::cos>(x, y, n);
    case MathFn::asin:
      return map<MathFn::asin>(x, y, n);
    case MathFn::acos:
      return map<MathFn::acos>(x, y, n);
    case MathFn::atan:
      return map<MathFn::atan>(x, y, n);
  }
}

void pow_vectors(const float* x, const float* y, float* z, size_t n) {
  const hn::FixedTag<float, 4> d;
  for (size_t i = 0; i < n; i += 4) hn::StoreU(Pow(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, z + i);
}

void activate_vectors(const Activation& act, const float* x, float* by_visit, float* by_vector) {
  const hn::FixedTag<float, 4> d;
  VisitActivation(act, [&](auto op) HWY_ATTR { hn::StoreU(op(d, hn::LoadU(d, x)), d, by_visit); });
  hn::StoreU(Activate(d, act, hn::LoadU(d, x)), d, by_vector);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double exact(MathFn fn, double x) {
  const double gate = 1 / (1 + std::exp(-2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)));
  switch (fn) {
    case MathFn::exp:
    case MathFn::exp_non_positive:
      return std::exp(x);
    case MathFn::log:
      return std::log(x);
    case MathFn::tanh:
      return std::tanh(x);
    case MathFn::sigmoid:
      return 1 / (1 + std::exp(-x));
    case MathFn::silu:
      return x / (1 + std::exp(-x));
    case MathFn::erf:
      return std::erf(x);
    case MathFn::gelu_erf:
      return 0.5 * x * std::erfc(-x * 0.7071067811865476);
    case MathFn::gelu_tanh:
      return x * gate;
    case MathFn::sin:
      return std::sin(x);
    case MathFn::cos:
      return std::cos(x);
    case MathFn::asin:
      return std::asin(x);
    case MathFn::acos:
      return std::acos(x);
    case MathFn::atan:
      return std::atan(x);
  }
  return 0;
}

// The error in units of the last place of the exact value, whose size is taken as at least the smallest normal number /
// `tiny_ulp`.
double ulp_error(double got, double want, double smallest_ulp) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  if (std::isinf(float(want)) || std::isinf(got)) return float(got) == float(want) ? 0 : 1e30;
  int exponent;
  std::frexp(want, &exponent);
  return std::abs(got - want) / std::max(std::ldexp(1.0, exponent - 24), smallest_ulp);
}

struct Worst {
  double error = 0;
  float at = 0;
};

template <typename Error>
Worst sweep(MathFn fn, const Error& error) {
  const char* env = std::getenv("RETORT_MATH_STRIDE");
  const uint64_t stride = env ? std::strtoull(env, nullptr, 10) : 4099;
  if (stride == 0) throw std::invalid_argument("RETORT_MATH_STRIDE must be a number of at least 1");
  constexpr size_t kBlock = 4097;  // odd, so that the tail is tested too
  std::vector<float> x(kBlock), y(kBlock);
  Worst worst;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32);) {
    size_t n = 0;
    for (; n < kBlock && bits < (uint64_t(1) << 32); bits += stride) x[n++] = std::bit_cast<float>(uint32_t(bits));
    RETORT_SELECT(evaluate)(fn, x.data(), y.data(), n);
    for (size_t i = 0; i < n; ++i) {
      const double e = error(x[i], y[i]);
      if (!(e <= worst.error)) worst = {e, x[i]};
    }
  }
  return worst;
}

class SimdMath : public ::testing::TestWithParam<Isa> {
 protected:
  ScopedIsa isa_{GetParam()};

  void expect_ulp(MathFn fn, double limit, double smallest_ulp = 0x1p-149) {
    const Worst worst = sweep(fn, [&](float x, float y) { return ulp_error(y, exact(fn, x), smallest_ulp); });
    EXPECT_LE(worst.error, limit) << "at " << worst.at;
    RecordProperty("worst", std::to_string(worst.error));
    if (std::getenv("RETORT_MATH_STRIDE")) std::printf("worst %.3f at %a\n", worst.error, worst.at);
  }
  void expect_gelu(MathFn fn) {
    const Worst worst = sweep(fn, [&](float x, float y) {
      if (std::isnan(exact(fn, x))) return std::isnan(y) ? 0.0 : 1e30;
      if (std::isinf(x)) return double(y) == exact(fn, x) ? 0 : 1e30;
      return std::abs(y - exact(fn, x)) / std::max(std::abs(double(x)), 0x1p-126);
    });
    EXPECT_LE(worst.error, 2e-7) << "at " << worst.at;
    if (std::getenv("RETORT_MATH_STRIDE")) std::printf("worst %.3g at %a\n", worst.error, worst.at);
  }
  float one(MathFn fn, float x) {
    float y;
    RETORT_SELECT(evaluate)(fn, &x, &y, 1);
    return y;
  }
};

// Below the smallest normal number some functions flush to zero: errors there count in units of that number.
constexpr double kFlush = FLT_MIN;

TEST_P(SimdMath, Exp) { expect_ulp(MathFn::exp, 2); }
TEST_P(SimdMath, Log) { expect_ulp(MathFn::log, 2); }
TEST_P(SimdMath, Sin) { expect_ulp(MathFn::sin, 2); }
TEST_P(SimdMath, Cos) { expect_ulp(MathFn::cos, 2); }
TEST_P(SimdMath, Asin) { expect_ulp(MathFn::asin, 2); }
TEST_P(SimdMath, Acos) { expect_ulp(MathFn::acos, 2); }
TEST_P(SimdMath, Atan) { expect_ulp(MathFn::atan, 2); }
TEST_P(SimdMath, Tanh) { expect_ulp(MathFn::tanh, 4); }
TEST_P(SimdMath, Erf) { expect_ulp(MathFn::erf, 4); }
TEST_P(SimdMath, GeluErf) { expect_gelu(MathFn::gelu_erf); }
TEST_P(SimdMath, GeluTanh) { expect_gelu(MathFn::gelu_tanh); }

TEST_P(SimdMath, SigmoidAndSilu) {
  for (const MathFn fn : {MathFn::sigmoid, MathFn::silu}) {
    const Worst worst = sweep(fn, [&](float x, float y) {
      const double want = exact(fn, x);
      return std::abs(want) < 100 * kFlush && std::abs(y - want) <= 100 * kFlush ? 0 : ulp_error(y, want, 0x1p-149);
    });
    EXPECT_LE(worst.error, 4) << "at " << worst.at;
    if (std::getenv("RETORT_MATH_STRIDE")) std::printf("worst %.3f at %a\n", worst.error, worst.at);
  }
}

TEST_P(SimdMath, ExpNonPositive) {
  const Worst worst = sweep(MathFn::exp_non_positive, [&](float x, float y) {
    if (x > 0) return 0.0;
    const double want = exact(MathFn::exp, x);
    return want < kFlush && y <= kFlush && y >= 0 ? 0 : ulp_error(y, want, 0x1p-149);
  });
  EXPECT_LE(worst.error, 2) << "at " << worst.at;
}

TEST_P(SimdMath, Pow) {
  constexpr float kSpecial[] = {0,        1,       2,       3,       0.5f,   1.5f,        2.5f,       7,   1e10f,
                                16777216, 8388609, FLT_MAX, FLT_MIN, 1e-42f, 0.99999994f, 1.0000001f, kInf};
  std::vector<float> bases, exponents, got;
  const auto add = [&](float x, float y) {
    bases.push_back(x);
    exponents.push_back(y);
  };
  std::vector<float> both{kNaN};
  for (const float s : kSpecial) both.insert(both.end(), {s, -s});
  for (const float x : both) {
    for (const float y : both) add(x, y);
  }
  uint32_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    const auto next = [&] { return state = state * 1664525 + 1013904223; };
    const float x = std::bit_cast<float>(0x20000000 + (next() >> 2));  // 1e-19 … 1e19, without NaN
    add(x, float(int32_t(next())) * 0x1p-31f * 60 / std::max(1.0f, std::abs(std::log2(x))));
  }
  while (bases.size() % 4) add(2, 3);
  got.resize(bases.size());
  RETORT_SELECT(pow_vectors)(bases.data(), exponents.data(), got.data(), got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double want = std::pow(double(bases[i]), double(exponents[i]));
    EXPECT_LE(ulp_error(got[i], want, 0x1p-149), 1) << bases[i] << " ^ " << exponents[i] << " = " << got[i];
    EXPECT_TRUE(want != 0 || std::signbit(got[i]) == std::signbit(want)) << bases[i] << " ^ " << exponents[i];
  }
}

TEST_P(SimdMath, Limits) {
  EXPECT_EQ(one(MathFn::exp, kInf), kInf);
  EXPECT_EQ(one(MathFn::exp, -kInf), 0);
  EXPECT_EQ(one(MathFn::exp, 0), 1);
  EXPECT_EQ(one(MathFn::exp_non_positive, 0), 1);
  EXPECT_EQ(one(MathFn::exp_non_positive, -kInf), 0);
  EXPECT_EQ(one(MathFn::log, 0), -kInf);
  EXPECT_EQ(one(MathFn::log, kInf), kInf);
  EXPECT_TRUE(std::isnan(one(MathFn::log, -1)));
  for (const float sign : {1.0f, -1.0f}) {
    EXPECT_EQ(one(MathFn::tanh, sign * kInf), sign);
    EXPECT_EQ(one(MathFn::erf, sign * kInf), sign);
    EXPECT_TRUE(std::signbit(one(MathFn::tanh, sign * 0.0f)) == (sign < 0));
    EXPECT_TRUE(std::signbit(one(MathFn::erf, sign * 0.0f)) == (sign < 0));
    for (const MathFn fn : {MathFn::asin, MathFn::atan}) EXPECT_TRUE(std::signbit(one(fn, sign * 0.0f)) == (sign < 0));
  }
  EXPECT_EQ(one(MathFn::sigmoid, kInf), 1);
  EXPECT_EQ(one(MathFn::sigmoid, -kInf), 0);
  for (const MathFn fn : {MathFn::silu, MathFn::gelu_erf, MathFn::gelu_tanh}) {
    EXPECT_EQ(one(fn, kInf), kInf);
    EXPECT_TRUE(std::isnan(one(fn, -kInf)));  // infinity times zero
    for (const float x : {1000.0f, FLT_MAX}) {
      EXPECT_EQ(one(fn, x), x);
      EXPECT_EQ(one(fn, -x), 0);
    }
    EXPECT_TRUE(std::isnan(one(fn, kNaN)));
  }
}

TEST_P(SimdMath, ActivateEveryKind) {
  using enum Activation::Kind;
  const float x[4] = {-3, -0.25f, kNaN, 7};
  const auto run = [&](const Activation& act, std::array<double, 4> want) {
    float by_visit[4], by_vector[4];
    RETORT_SELECT(activate_vectors)(act, x, by_visit, by_vector);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(std::bit_cast<uint32_t>(by_visit[i]), std::bit_cast<uint32_t>(by_vector[i]));
      if (i == 2) {
        EXPECT_TRUE(std::isnan(by_visit[i])) << int(act.kind);
      } else {
        EXPECT_NEAR(by_visit[i], want[i], 1e-6) << int(act.kind);
      }
    }
  };
  const auto f = [](MathFn fn) { return std::array{exact(fn, -3), exact(fn, -0.25), 0.0, exact(fn, 7)}; };
  run({none}, {-3, -0.25, 0, 7});
  run({relu}, {0, 0, 0, 7});
  run({clip, -1, 6}, {-1, -0.25, 0, 6});
  run({leaky_relu, 0.5f}, {-1.5, -0.125, 0, 7});
  run({sigmoid}, f(MathFn::sigmoid));
  run({silu}, f(MathFn::silu));
  run({Activation::Kind::tanh}, f(MathFn::tanh));
  run({gelu_erf}, f(MathFn::gelu_erf));
  run({gelu_tanh}, f(MathFn::gelu_tanh));
  run({hard_sigmoid, 0.2f, 0.5f}, {0, 0.45, 0, 1});
  run({hard_swish, 0.2f, 0.5f}, {0, -0.1125, 0, 7});
}

INSTANTIATE_TEST_SUITE_P(Levels, SimdMath, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
#endif  // HWY_ONCE
