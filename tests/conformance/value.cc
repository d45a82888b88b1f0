#include "value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace retort::conformance {
namespace {

// A binary floating-point format without a type in C++: sign, `exponent` bits, `mantissa` bits.
struct Format {
  int exponent, mantissa, bias;
  enum Special { ieee, nan_all_ones, nan_negative_zero, finite } special;
};

double decode(uint32_t bits, const Format& f) {
  const int width = 1 + f.exponent + f.mantissa;
  const uint32_t magnitude = bits & ((1u << (width - 1)) - 1);
  const bool negative = (bits >> (width - 1)) & 1;
  const auto exponent = static_cast<int>(magnitude >> f.mantissa);
  const uint32_t fraction = magnitude & ((1u << f.mantissa) - 1);
  const bool top = exponent == (1 << f.exponent) - 1;
  if (f.special == Format::nan_negative_zero && negative && magnitude == 0) return std::nan("");
  if (f.special == Format::nan_all_ones && magnitude == (1u << (width - 1)) - 1) return std::nan("");
  if (f.special == Format::ieee && top) {
    if (fraction) return std::nan("");
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  const uint32_t leading = exponent ? 1u << f.mantissa : 0;
  const double value = std::ldexp(static_cast<double>(leading | fraction), std::max(exponent, 1) - f.bias - f.mantissa);
  return negative ? -value : value;
}

template <typename T>
double native(const Value& v, size_t index) {
  T x;
  std::memcpy(&x, v.bytes.data() + index * sizeof(T), sizeof(T));
  return static_cast<double>(x);
}

uint32_t raw_bits(const Value& v, size_t index, int width) {
  const size_t at = index * static_cast<size_t>(width);
  uint32_t bits = 0;
  for (int k = 0; k < (width + 7) / 8; ++k) bits |= std::to_integer<uint32_t>(v.bytes[at / 8 + k]) << (8 * k);
  return width >= 8 ? bits : (bits >> (at % 8)) & ((1u << width) - 1);
}

double signed_bits(const Value& v, size_t index, int width) {
  const auto x = static_cast<int>(raw_bits(v, index, width));
  return x >= 1 << (width - 1) ? x - (1 << width) : x;
}

// The types that C++ has no type for.
double narrow(const Value& v, size_t i) {
  const int bits = bits_of(v.elem);
  switch (v.elem) {
    case Elem::f16:
      return decode(raw_bits(v, i, bits), {5, 10, 15, Format::ieee});
    case Elem::bf16:
      return decode(raw_bits(v, i, bits), {8, 7, 127, Format::ieee});
    case Elem::f8e4m3fn:
      return decode(raw_bits(v, i, bits), {4, 3, 7, Format::nan_all_ones});
    case Elem::f8e4m3fnuz:
      return decode(raw_bits(v, i, bits), {4, 3, 8, Format::nan_negative_zero});
    case Elem::f8e5m2:
      return decode(raw_bits(v, i, bits), {5, 2, 15, Format::ieee});
    case Elem::f8e5m2fnuz:
      return decode(raw_bits(v, i, bits), {5, 2, 16, Format::nan_negative_zero});
    case Elem::f4e2m1:
      return decode(raw_bits(v, i, bits), {2, 1, 1, Format::finite});
    case Elem::f8e8m0: {  // a power of two without a sign
      const auto exponent = static_cast<int>(raw_bits(v, i, bits));
      return exponent == 255 ? std::nan("") : std::ldexp(1.0, exponent - 127);
    }
    case Elem::u4:
    case Elem::u2:
      return raw_bits(v, i, bits);
    case Elem::i4:
    case Elem::i2:
      return signed_bits(v, i, bits);
    default:
      throw std::logic_error("not a number");
  }
}

}  // namespace

int bits_of(Elem elem) {
  static constexpr std::array<uint8_t, 27> kBits = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                                                    64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};
  const auto index = static_cast<size_t>(elem);
  return index < kBits.size() ? kBits[index] : 0;
}

double number_at(const Value& v, size_t i) {
  switch (v.elem) {
    case Elem::f32:
    case Elem::c64:
      return native<float>(v, i);
    case Elem::f64:
    case Elem::c128:
      return native<double>(v, i);
    case Elem::u8:
    case Elem::boolean:
      return native<uint8_t>(v, i);
    case Elem::i8:
      return native<int8_t>(v, i);
    case Elem::u16:
      return native<uint16_t>(v, i);
    case Elem::i16:
      return native<int16_t>(v, i);
    case Elem::u32:
      return native<uint32_t>(v, i);
    case Elem::i32:
      return native<int32_t>(v, i);
    case Elem::u64:
      return native<uint64_t>(v, i);
    case Elem::i64:
      return native<int64_t>(v, i);
    default:
      return narrow(v, i);
  }
}

}  // namespace retort::conformance
