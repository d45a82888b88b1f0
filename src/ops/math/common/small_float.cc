#include "ops/math/common/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retort::ops {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Format {
  int exponent_bits, mantissa_bits, bias;
  float largest;
  bool infinity;      // whether all exponent bits set and mantissa 0 is infinity
  bool negative_nan;  // whether the code of -0 is the only NaN ("fnuz")
  bool nan;           // whether it has NaN

  int sign_shift() const { return exponent_bits + mantissa_bits; }
  uint8_t sign_bit() const { return uint8_t(1u << sign_shift()); }
};

Format format_of(DType type) {
  switch (type) {
    case DType::f8e4m3fn:
      return {4, 3, 7, 448, false, false, true};
    case DType::f8e4m3fnuz:
      return {4, 3, 8, 240, false, true, true};
    case DType::f8e5m2:
      return {5, 2, 15, 57344, true, false, true};
    case DType::f8e5m2fnuz:
      return {5, 2, 16, 57344, false, true, true};
    default:
      return {2, 1, 1, 6, false, false, false};  // f4e2m1
  }
}

// Codes of magnitudes grow with the magnitude, so those above the largest finite one are infinity and NaN.
float decode(const Format& f, uint8_t code) {
  if (f.negative_nan && code == f.sign_bit()) return kNaN;
  const int magnitude = code & (f.sign_bit() - 1);
  const int exponent = magnitude >> f.mantissa_bits, mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
  const int implicit = exponent == 0 ? 0 : 1 << f.mantissa_bits;
  float value = std::ldexp(float(mantissa + implicit), std::max(exponent, 1) - f.bias - f.mantissa_bits);
  if (value > f.largest) value = f.infinity && mantissa == 0 ? kInfinity : kNaN;
  return code & f.sign_bit() ? -value : value;
}

uint8_t nan_code(const Format& f, uint8_t sign) {
  if (!f.nan || f.negative_nan) return f.sign_bit();
  return uint8_t(sign | (f.infinity ? f.sign_bit() - 2 : f.sign_bit() - 1));
}

uint8_t magnitude_code(const Format& f, float magnitude) {
  if (magnitude == 0) return 0;
  const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
  const int steps = int(std::ldexp(magnitude, f.mantissa_bits - exponent));  // exact, because it was rounded before
  const int normal = 1 << f.mantissa_bits;
  return uint8_t(steps < normal ? steps : ((exponent + f.bias) << f.mantissa_bits) + steps - normal);
}

uint8_t encode(const Format& f, float value, bool saturate) {
  const uint8_t sign = std::signbit(value) ? f.sign_bit() : 0;
  if (std::isnan(value)) return nan_code(f, sign);
  const float magnitude = std::abs(value);
  float rounded = magnitude;
  if (magnitude > 0 && magnitude < kInfinity) {
    const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias) - f.mantissa_bits;
    rounded = std::ldexp(std::nearbyint(std::ldexp(magnitude, -exponent)), exponent);
  }
  if (rounded > f.largest) {
    if (saturate || !f.nan) return uint8_t(sign | magnitude_code(f, f.largest));
    return f.infinity ? uint8_t(sign | (magnitude_code(f, f.largest) + 1)) : nan_code(f, sign);
  }
  const uint8_t code = magnitude_code(f, rounded);
  return code == 0 && f.negative_nan ? 0 : uint8_t(sign | code);
}

// A power of two without sign: 2^(code - 127); code 255 is NaN.
uint8_t encode_scale(float value, bool saturate, ScaleRounding rounding) {
  constexpr uint8_t kNoNumber = 255, kLargest = 254;
  if (std::isnan(value) || value < 0) return kNoNumber;
  if (value == 0) return saturate ? 0 : kNoNumber;
  if (std::isinf(value)) return saturate ? kLargest : kNoNumber;
  int exponent = std::ilogb(value);
  const float fraction = std::scalbn(value, -exponent);  // in [1, 2)
  if ((rounding == ScaleRounding::up && fraction > 1) || (rounding == ScaleRounding::nearest && fraction >= 1.5f))
    ++exponent;
  if (exponent > 127) return saturate ? kLargest : kNoNumber;
  if (exponent < -127) return saturate ? 0 : kNoNumber;
  return uint8_t(exponent + 127);
}

}  // namespace

bool is_small_float(DType type) {
  switch (type) {
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
      return true;
    default:
      return false;
  }
}

float decode_small_float(DType type, uint8_t code) {
  if (type == DType::f8e8m0) return code == 255 ? kNaN : std::ldexp(1.0f, int(code) - 127);
  return decode(format_of(type), code);
}

uint8_t encode_small_float(DType type, float value, bool saturate, ScaleRounding rounding) {
  if (type == DType::f8e8m0) return encode_scale(value, saturate, rounding);
  return encode(format_of(type), value, saturate);
}

}  // namespace retort::ops
