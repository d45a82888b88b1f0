// Numbers of 16 bits: conversion from and to float, and comparison, of their bits. Ort::Float16_t and Ort::BFloat16_t
// derive from these templates, and a program may derive types of its own.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace onnxruntime_float16 {

namespace detail {
enum class endian {
#ifdef _WIN32
  little = 0,
  big = 1,
  native = little
#else
  little = __ORDER_LITTLE_ENDIAN__,
  big = __ORDER_BIG_ENDIAN__,
  native = __BYTE_ORDER__
#endif
};

inline uint32_t BitsOf(float value) noexcept {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float FromBits(uint32_t bits) noexcept {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// What both formats have in common: a sign bit, then an exponent of the bits kExponent, then the fraction.
template <typename Derived, uint16_t kExponent>
struct Number {
  bool IsNegative() const noexcept { return (val & kSignMask) != 0; }
  bool IsNaN() const noexcept { return AbsImpl() > kExponent; }
  bool IsFinite() const noexcept { return AbsImpl() < kExponent; }
  bool IsPositiveInfinity() const noexcept { return val == kExponent; }
  bool IsNegativeInfinity() const noexcept { return val == (kSignMask | kExponent); }
  bool IsInfinity() const noexcept { return AbsImpl() == kExponent; }
  bool IsNaNOrZero() const noexcept { return IsNaN() || AbsImpl() == 0; }
  bool IsNormal() const noexcept { return IsFinite() && (val & kExponent) != 0; }
  bool IsSubnormal() const noexcept { return AbsImpl() != 0 && (val & kExponent) == 0; }
  Derived Abs() const noexcept { return Derived::FromBits(AbsImpl()); }
  // A NaN stays as it is.
  Derived Negate() const noexcept { return Derived::FromBits(NegateImpl()); }
  static bool AreZero(const Number& lhs, const Number& rhs) noexcept {
    return lhs.AbsImpl() == 0 && rhs.AbsImpl() == 0;
  }

  // No NaN is equal to any number, and none is less or greater. Zeros are equal, whatever their signs.
  bool operator==(const Number& rhs) const noexcept {
    return !IsNaN() && !rhs.IsNaN() && (val == rhs.val || AreZero(*this, rhs));
  }
  bool operator!=(const Number& rhs) const noexcept { return !(*this == rhs); }
  bool operator<(const Number& rhs) const noexcept {
    if (IsNaN() || rhs.IsNaN() || AreZero(*this, rhs)) return false;
    return Rank() < rhs.Rank();
  }

  static constexpr uint16_t kSignMask = 0x8000;
  static constexpr uint16_t kBiasedExponentMask = kExponent;
  static constexpr uint16_t kPositiveInfinityBits = kExponent;
  static constexpr uint16_t kNegativeInfinityBits = kSignMask | kExponent;

  uint16_t val{0};

 protected:
  uint16_t AbsImpl() const noexcept { return static_cast<uint16_t>(val & ~kSignMask); }
  uint16_t NegateImpl() const noexcept { return IsNaN() ? val : static_cast<uint16_t>(val ^ kSignMask); }

 private:
  // Numbers are in the order of their ranks.
  int Rank() const noexcept { return IsNegative() ? -AbsImpl() : AbsImpl(); }
};
}  // namespace detail

// IEEE 754 half precision: 5 bits of exponent, 10 of fraction.
template <typename Derived>
struct Float16Impl : detail::Number<Derived, 0x7C00> {
  static constexpr uint16_t kPositiveQNaNBits = 0x7E00;
  static constexpr uint16_t kNegativeQNaNBits = 0xFE00;
  static constexpr uint16_t kMaxValueBits = 0x7BFF;
  static constexpr uint16_t kOneBits = 0x3C00;
  static constexpr uint16_t kMinusOneBits = 0xBC00;

 protected:
  // The nearest half, the even one of two. What is too large becomes an infinity, every NaN a quiet one.
  static uint16_t ToUint16Impl(float v) noexcept {
    const uint32_t bits = detail::BitsOf(v), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | kPositiveQNaNBits);
    if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7C00);
    if (magnitude < 0x38800000) {
      // A subnormal: its bits are the number of units of 2^-24, which adding a half lets the processor round.
      const uint32_t units = detail::BitsOf(detail::FromBits(magnitude) + 0.5f) - detail::BitsOf(0.5f);
      return static_cast<uint16_t>(sign | units);
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return static_cast<uint16_t>(sign | (magnitude - (112u << 23) + 0xFFF + odd) >> 13);
  }

  float ToFloatImpl() const noexcept {
    const uint32_t sign = (this->val & 0x8000u) << 16, exponent = this->val >> 10 & 31, fraction = this->val & 0x3FF;
    if (exponent == 31) return detail::FromBits(sign | 0x7F800000 | fraction << 13);
    if (exponent > 0) return detail::FromBits(sign | (exponent + 112) << 23 | fraction << 13);
    const float small = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -small : small;
  }
};

// bfloat16: the upper half of a float.
template <typename Derived>
struct BFloat16Impl : detail::Number<Derived, 0x7F80> {
  static constexpr uint16_t kPositiveQNaNBits = 0x7FC1;
  static constexpr uint16_t kNegativeQNaNBits = 0xFFC1;
  static constexpr uint16_t kMaxValueBits = 0x7F7F;
  static constexpr uint16_t kRoundToNearest = 0x7FFF;
  static constexpr uint16_t kOneBits = 0x3F80;
  static constexpr uint16_t kMinusOneBits = 0xBF80;

 protected:
  // The nearest one, the even one of two.
  static uint16_t ToUint16Impl(float v) noexcept {
    if (std::isnan(v)) return kPositiveQNaNBits;
    const uint32_t bits = detail::BitsOf(v);
    return static_cast<uint16_t>((bits + kRoundToNearest + (bits >> 16 & 1)) >> 16);
  }

  float ToFloatImpl() const noexcept { return detail::FromBits(static_cast<uint32_t>(this->val) << 16); }
};

}  // namespace onnxruntime_float16
