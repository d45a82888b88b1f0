// Numbers of 16 and 8 bits: every half and bfloat16, and conversions from random floats, beside arithmetic in double.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "client.h"

namespace {

/// The value of bits with `exponent` bits of exponent and `fraction` bits of fraction, by the definition of IEEE 754.
double value_of(uint16_t bits, int exponent, int fraction) {
  const int bias = (1 << (exponent - 1)) - 1, e = bits >> fraction & ((1 << exponent) - 1);
  const int f = bits & ((1 << fraction) - 1);
  const double sign = bits >> 15 ? -1 : 1;
  if (e == (1 << exponent) - 1) return f ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  const double scaled = e ? f + (1 << fraction) : f;
  return sign * std::ldexp(scaled, (e ? e : 1) - bias - fraction);
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

template <typename Number>
void each(int exponent, int fraction) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto number = Number::FromBits(static_cast<uint16_t>(bits));
    const double value = value_of(number.val, exponent, fraction);
    const std::string what = "bits " + std::to_string(bits);
    expect(same(double(number.ToFloat()), value), what);
    expect(number.IsNaN() == std::isnan(value) && number.IsInfinity() == std::isinf(value), what + ": kind");
    expect(number.IsFinite() == std::isfinite(value) && number.IsNegative() == (bits >> 15 == 1), what + ": kind");
    expect(number.IsNaNOrZero() == (std::isnan(value) || value == 0), what + ": NaN or zero");
    const int e = bits >> fraction & ((1 << exponent) - 1);
    expect(number.IsSubnormal() == (value != 0 && e == 0) && number.IsNormal() == (std::isfinite(value) && e != 0),
           what + ": normal");
    if (std::isnan(value)) {
      expect(Number(number.ToFloat()).IsNaN() && number != number, what + ": NaN");
    } else {
      expect(Number(float(value)).val == bits && number == number, what + ": from float");
      expect(same(double(float(number.Abs())), std::fabs(value)) && same(double(float(number.Negate())), -value), what);
    }
  }
}

/// Every random float becomes the nearest number, the even one of two.
template <typename Number>
void rounded(int exponent, int fraction) {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    const uint32_t bits = uint32_t(random());
    float x;
    std::memcpy(&x, &bits, sizeof x);
    if (std::isnan(x)) continue;
    const Number number(x);
    const double got = value_of(number.val, exponent, fraction);
    if (std::isinf(got)) {
      const double largest = value_of(uint16_t(number.val - 1), exponent, fraction);
      const double half = std::fabs(largest - value_of(uint16_t(number.val - 2), exponent, fraction)) / 2;
      expect(std::fabs(double(x)) >= std::fabs(largest) + half, "too large for a number");
      continue;
    }
    for (const int step : {-1, 1}) {
      if ((number.val & 0x7fff) == 0 && step < 0) continue;
      const uint16_t other = uint16_t(number.val + step);
      const double d = std::fabs(got - double(x)), o = std::fabs(value_of(other, exponent, fraction) - double(x));
      expect(d < o || (d == o && number.val % 2 == 0), "the nearest of a float");
    }
  }
}

}  // namespace

void halves() {
  each<Ort::Float16_t>(5, 10);
  rounded<Ort::Float16_t>(5, 10);
  expect(Ort::Float16_t(1.0f) < Ort::Float16_t(2.0f) && Ort::Float16_t(-2.0f) < Ort::Float16_t(-1.0f), "order");
  expect(Ort::Float16_t(-0.0f) == Ort::Float16_t(0.0f) && !(Ort::Float16_t(-0.0f) < Ort::Float16_t(0.0f)), "zeros");
}

void brain_floats() {
  each<Ort::BFloat16_t>(8, 7);
  rounded<Ort::BFloat16_t>(8, 7);
  expect(Ort::BFloat16_t(1.0f) < Ort::BFloat16_t(2.0f) && Ort::BFloat16_t(-2.0f) < Ort::BFloat16_t(1.0f), "order");
}

void bytes() {
  expect(Ort::Float8E4M3FN_t(3) == Ort::Float8E4M3FN_t(3) && Ort::Float8E5M2_t(3) != Ort::Float8E5M2_t(4), "equality");
  expect(uint8_t(Ort::Float8E5M2FNUZ_t(200)) == 200 && Ort::Float8E4M3FNUZ_t().value == 0, "the byte");
}
