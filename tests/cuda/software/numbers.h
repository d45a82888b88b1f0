// Numbers of the types of tensors, in plain code.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace software_cuda {

enum class Number { f32, f64, f16, bf16, e4m3, e5m2, i8, u8, i32, none };

inline size_t bytes_of(Number n) {
  switch (n) {
    case Number::f64:
      return 8;
    case Number::f16:
    case Number::bf16:
      return 2;
    case Number::e4m3:
    case Number::e5m2:
    case Number::i8:
    case Number::u8:
      return 1;
    default:
      return 4;
  }
}

inline uint32_t bits_of(float v) {
  uint32_t b;
  std::memcpy(&b, &v, sizeof b);
  return b;
}
inline float from_bits(uint32_t b) {
  float v;
  std::memcpy(&v, &b, sizeof v);
  return v;
}

inline float from_half(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 1023;
  if (e == 0) {
    const float v = float(m) * 0x1p-24f;
    return sign ? -v : v;
  }
  return from_bits(sign | (e == 31 ? 0x7f800000u : (e + 112) << 23) | m << 13);
}

inline uint16_t to_half(float v) {
  const uint32_t b = bits_of(v), sign = b >> 16 & 0x8000u, a = b & 0x7fffffffu;
  if (a > 0x7f800000u) return uint16_t(sign | 0x7fffu);
  if (a >= 0x477ff000u) return uint16_t(sign | 0x7c00u);
  if (a < 0x38800000u) return uint16_t(sign | uint32_t(std::nearbyint(from_bits(a) * 0x1p24f)));
  return uint16_t(sign | ((a - 0x38000000u + 0xfffu + (a >> 13 & 1)) >> 13));
}

inline uint16_t to_bfloat(float v) {
  const uint32_t b = bits_of(v);
  if ((b & 0x7fffffffu) > 0x7f800000u) return uint16_t(b >> 16 | 0x40u);
  return uint16_t((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}

inline float from_e4m3(uint8_t v) {
  const int e = v >> 3 & 15, m = v & 7;
  if (e == 15 && m == 7) return NAN;
  const float size = e ? std::ldexp(float(8 + m), e - 10) : std::ldexp(float(m), -9);
  return v & 0x80 ? -size : size;
}
/// Too large numbers become the greatest one.
inline uint8_t to_e4m3(float v) {
  const auto sign = uint8_t(std::signbit(v) ? 0x80 : 0);
  if (v != v) return uint8_t(sign | 0x7f);
  const float size = std::fabs(v);
  if (size >= 448) return uint8_t(sign | 0x7e);
  if (size < 0x1p-6f) return uint8_t(sign | int(std::nearbyint(size * 512)));
  const int e = std::ilogb(size), units = int(std::nearbyint(std::ldexp(size, 3 - e)));  // 8 to 16
  return uint8_t(sign | (((e + 7) << 3) + units - 8));
}
inline float from_e5m2(uint8_t v) { return from_half(uint16_t(v << 8)); }

/// A float with 10 bits of mantissa.
inline float round_tf32(float v) {
  const uint32_t b = bits_of(v);
  if ((b & 0x7f800000u) == 0x7f800000u) return v;
  return from_bits((b + 0xfffu + (b >> 13 & 1u)) & 0xffffe000u);
}

/// Element i of `data`.
inline double load(Number n, const void* data, int64_t i) {
  switch (n) {
    case Number::f32:
      return static_cast<const float*>(data)[i];
    case Number::f64:
      return static_cast<const double*>(data)[i];
    case Number::f16:
      return from_half(static_cast<const uint16_t*>(data)[i]);
    case Number::bf16:
      return from_bits(uint32_t(static_cast<const uint16_t*>(data)[i]) << 16);
    case Number::e4m3:
      return from_e4m3(static_cast<const uint8_t*>(data)[i]);
    case Number::e5m2:
      return from_e5m2(static_cast<const uint8_t*>(data)[i]);
    case Number::i8:
      return static_cast<const int8_t*>(data)[i];
    case Number::u8:
      return static_cast<const uint8_t*>(data)[i];
    default:
      return static_cast<const int32_t*>(data)[i];
  }
}

inline void store(Number n, void* data, int64_t i, double v) {
  switch (n) {
    case Number::f32:
      static_cast<float*>(data)[i] = float(v);
      break;
    case Number::f64:
      static_cast<double*>(data)[i] = v;
      break;
    case Number::f16:
      static_cast<uint16_t*>(data)[i] = to_half(float(v));
      break;
    case Number::bf16:
      static_cast<uint16_t*>(data)[i] = to_bfloat(float(v));
      break;
    case Number::e4m3:
      static_cast<uint8_t*>(data)[i] = to_e4m3(float(v));
      break;
    case Number::i8:
      static_cast<int8_t*>(data)[i] = int8_t(v);
      break;
    case Number::u8:
      static_cast<uint8_t*>(data)[i] = uint8_t(v);
      break;
    default:
      static_cast<int32_t*>(data)[i] = int32_t(v);
  }
}

/// The sum of products of two rows. Several sums side by side, as on a GPU.
template <typename T>
T dot(const T* a, const T* b, int64_t count) {
  constexpr int kSums = 16;
  T sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (int s = 0; s < kSums; ++s) sums[s] += a[i + s] * b[i + s];
  for (; i < count; ++i) sums[i % kSums] += a[i] * b[i];
  T sum = 0;
  for (const T s : sums) sum += s;
  return sum;
}

}  // namespace software_cuda
