// 16-bit floats. float16 is IEEE 754 binary16; bfloat16 is the upper half of binary32. Conversions round to nearest
// even.
#pragma once
#include <bit>
#include <cstdint>

namespace retort {

struct float16 {
  uint16_t bits = 0;
  float16() = default;
  explicit float16(float value) : bits(from_float(value)) {}
  explicit operator float() const { return to_float(bits); }

  static float to_float(uint16_t h) {
    const uint32_t sign = uint32_t(h & 0x8000) << 16;
    const uint32_t rest = h & 0x7fff;
    if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | ((rest & 0x3ff) << 13));  // inf, NaN
    // Multiplying by 2^112 changes the exponent bias from 15 to 127, and also converts subnormals correctly.
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112f));
  }
  static uint16_t from_float(float f) {
    const uint32_t bits = std::bit_cast<uint32_t>(f);
    const uint16_t sign = uint16_t((bits >> 16) & 0x8000);
    uint32_t rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) return sign | 0x7e00 | uint16_t((rest >> 13) & 0x3ff);  // NaN stays NaN
    if (rest >= 0x477ff000) return sign | 0x7c00;                                  // rounds to infinity
    if (rest < 0x38800000) {  // subnormal: adding 0.5 aligns the mantissa, and the FPU rounds
      return sign | uint16_t(std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000);
    }
    rest += 0xfff + ((rest >> 13) & 1);
    return sign | uint16_t((rest - 0x38000000) >> 13);
  }
};

struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value) : bits(from_float(value)) {}
  explicit operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

  static uint16_t from_float(float f) {
    const uint32_t b = std::bit_cast<uint32_t>(f);
    if ((b & 0x7fffffff) > 0x7f800000) return uint16_t((b >> 16) | 0x40);
    return uint16_t((b + 0x7fff + ((b >> 16) & 1)) >> 16);
  }
};

}  // namespace retort
