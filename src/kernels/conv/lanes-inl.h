// Vector helpers of convolution, pooling and resizing: tails of channels, and the last step before a result is stored.
// Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_CONV_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_CONV_LANES_INL_H_
#undef RETORT_KERNELS_CONV_LANES_INL_H_
#else
#define RETORT_KERNELS_CONV_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using FloatTag = hn::ScalableTag<float>;
using Float = hn::Vec<FloatTag>;
constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);

/// The first n lanes from memory, the others zero; n is in [1, kLanes]. Reads no float after p[n - 1].
HWY_INLINE Float load_first(const float* p, size_t n) {
  return n == kLanes ? hn::LoadU(FloatTag(), p) : LoadFirst(FloatTag(), p, n);
}

HWY_INLINE void store_first(Float v, float* p, size_t n) {
  if (n == kLanes) {
    hn::StoreU(v, FloatTag(), p);
  } else {
    StoreFirst(FloatTag(), v, p, n);
  }
}

/// LoadU, but the compiler may not repeat the load for each use: g++ 12 otherwise makes the load an operand of every
/// multiply-add that uses the vector, and a 512-bit load costs as much as the multiply-add (depthwise 3x3: 53 % of the
/// peak instead of 68 %; no gain with 256 bits).
HWY_INLINE Float load_once(const float* p) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  Float v;
  asm("vmovups %1, %0" : "=v"(v.raw) : "m"(*reinterpret_cast<const __m512_u*>(p)));
  return v;
#else
  return hn::LoadU(FloatTag(), p);
#endif
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
