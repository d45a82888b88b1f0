#include "ops/math/common/small_float.h"

#include <algorithm>
#include <bit>
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

// Of a float that is not a denormal number: floor(log2(x)); less for those that are, which all formats round to 0.
int exponent_of(float magnitude) { return int(std::bit_cast<uint32_t>(magnitude) >> 23) - 127; }
float power_of_two(int exponent) { return std::bit_cast<float>(uint32_t(exponent + 127) << 23); }

/// A magnitude in the steps of a format around it, which are a power of two apart.
struct Steps {
  int exponent;
  float step, count;  ///< count: rounded, ties to even
  Steps(const Format& f, float magnitude)
      : exponent(std::max(exponent_of(magnitude), 1 - f.bias)),
        step(power_of_two(exponent - f.mantissa_bits)),
        count(std::nearbyint(magnitude / step)) {}
  // If rounding reached the next power of two, its exponent follows from the carry.
  uint8_t code(const Format& f) const { return uint8_t(((exponent + f.bias - 1) << f.mantissa_bits) + int(count)); }
};

uint8_t encode(const Format& f, float value, bool saturate) {
  const uint8_t sign = std::signbit(value) ? f.sign_bit() : 0;
  if (std::isnan(value)) return nan_code(f, sign);
  const Steps steps(f, std::abs(value));
  if (steps.count * steps.step > f.largest) {
    const uint8_t largest = Steps(f, f.largest).code(f);
    if (saturate || !f.nan) return uint8_t(sign | largest);
    return f.infinity ? uint8_t(sign | (largest + 1)) : nan_code(f, sign);
  }
  const uint8_t code = steps.code(f);
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

namespace {

struct Numbers {
  float of[256];
  explicit Numbers(DType type) {
    for (int code = 0; code < 256; ++code) {
      of[code] = type != DType::f8e8m0 ? decode(format_of(type), uint8_t(code))
                 : code == 255         ? kNaN
                                       : std::ldexp(1.0f, code - 127);
    }
  }
};

template <DType kType>
const float* numbers() {
  static const Numbers all(kType);
  return all.of;
}

}  // namespace

const float* small_float_numbers(DType type) {
  switch (type) {
    case DType::f8e4m3fn:
      return numbers<DType::f8e4m3fn>();
    case DType::f8e4m3fnuz:
      return numbers<DType::f8e4m3fnuz>();
    case DType::f8e5m2:
      return numbers<DType::f8e5m2>();
    case DType::f8e5m2fnuz:
      return numbers<DType::f8e5m2fnuz>();
    case DType::f8e8m0:
      return numbers<DType::f8e8m0>();
    default:
      return numbers<DType::f4e2m1>();
  }
}

float decode_small_float(DType type, uint8_t code) { return small_float_numbers(type)[code]; }

uint8_t encode_small_float(DType type, float value, bool saturate, ScaleRounding rounding) {
  if (type == DType::f8e8m0) return encode_scale(value, saturate, rounding);
  return encode(format_of(type), value, saturate);
}

void encode_small_floats(DType type, const float* from, size_t n, bool saturate, ScaleRounding rounding, uint8_t* to) {
  if (type == DType::f8e8m0) {
    for (size_t i = 0; i < n; ++i) to[i] = encode_scale(from[i], saturate, rounding);
    return;
  }
  const Format format = format_of(type);
  for (size_t i = 0; i < n; ++i) to[i] = encode(format, from[i], saturate);
}

}  // namespace retort::ops
