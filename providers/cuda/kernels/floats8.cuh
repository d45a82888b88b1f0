// Elements of 8 bits: e4m3 has 3 bits of mantissa, no infinity, and one NaN for each sign; e5m2 is the upper half of a
// float16. Kernels compute with both in float.
#pragma once

struct e4m3 {
  u8 bits;
};
struct e5m2 {
  u8 bits;
};

__device__ inline float to_float(e4m3 v) {
  f16 half;  // the same number, times 2^-8
  half.bits = u16(u32(v.bits & 0x80) << 8 | u32(v.bits & 0x7f) << 7);
  return (v.bits & 0x7f) == 0x7f ? bits_to_float(0x7fc00000u) : to_float(half) * 256.0f;
}
__device__ inline float to_float(e5m2 v) {
  f16 half;
  half.bits = u16(u32(v.bits) << 8);
  return to_float(half);
}

/// Rounds to nearest even a number that is not NaN; codes above the greatest number of the format are counted on.
/// MANTISSA: bits of it; BIAS: that of the exponent.
template <int MANTISSA, int BIAS>
__device__ inline u32 rounded_size(float v) {
  const u32 size = float_to_bits(v) & 0x7fffffffu, low = u32(128 - BIAS) << 23;
  if (size < low) return u32(rintf(bits_to_float(size) * bits_to_float(u32(126 + BIAS + MANTISSA) << 23)));
  const u32 base = size - (u32(127 - BIAS) << 23), shift = 23 - MANTISSA;
  return (base + (1u << (shift - 1)) - 1 + (base >> shift & 1)) >> shift;
}
/// Too large numbers become the greatest one if `saturates`, otherwise NaN or infinity.
__device__ inline e4m3 to_e4m3(float v, bool saturates) {
  e4m3 r;
  const u32 sign = float_to_bits(v) >> 24 & 0x80u;
  u32 code = 0x7f;
  if (v == v) {
    code = rounded_size<3, 7>(v);
    if (code > 0x7e) code = saturates ? 0x7e : 0x7f;
  }
  r.bits = u8(sign | code);
  return r;
}
__device__ inline e5m2 to_e5m2(float v, bool saturates) {
  e5m2 r;
  const u32 sign = float_to_bits(v) >> 24 & 0x80u;
  u32 code = 0x7f;
  if (v == v) {
    code = rounded_size<2, 15>(v);
    if (code > 0x7b) code = saturates ? 0x7b : 0x7c;
  }
  r.bits = u8(sign | code);
  return r;
}

/// The same with saturation, by an instruction where there is one.
__device__ inline e4m3 to_e4m3(float v) {
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 890
  u16 both;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(v));
  e4m3 r;
  r.bits = u8(both);
  return r;
#else
  return to_e4m3(v, true);
#endif
}
__device__ inline e5m2 to_e5m2(float v) {
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 890
  u16 both;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(v));
  e5m2 r;
  r.bits = u8(both);
  return r;
#else
  return to_e5m2(v, true);
#endif
}

template <>
struct Compute<e4m3> {
  typedef float type;
  __device__ static float load(e4m3 v) { return to_float(v); }
  __device__ static e4m3 store(float v) { return to_e4m3(v); }
};
template <>
struct Compute<e5m2> {
  typedef float type;
  __device__ static float load(e5m2 v) { return to_float(v); }
  __device__ static e5m2 store(float v) { return to_e5m2(v, false); }
};
