// Vector helpers of convolution, pooling and resizing: channel tails, and what happens to a result before it is stored.
// Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_CONV_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_CONV_LANES_INL_H_
#undef RETORT_KERNELS_CONV_LANES_INL_H_
#else
#define RETORT_KERNELS_CONV_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <utility>

#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using FloatTag = hn::ScalableTag<float>;
using Float = hn::Vec<FloatTag>;
constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);

/// The first n lanes from memory, the others zero; n in [1, kLanes]. Touches no float past p[n - 1].
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

/// v, which the compiler must hold in a register: g++ 12 otherwise loads it again for each multiply-add that uses it,
/// and a 512-bit load costs as much as the multiply-add (depthwise 3x3: 53 % of the peak without, 68 % with it; no gain
/// with 256 bits).
HWY_INLINE Float in_register(Float v) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  asm("" : "+v"(v.raw));
#endif
  return v;
}

/// f(integral_constant<size_t, i>) for i = 0 … kCount - 1. With a lambda marked RETORT_UNROLLED, arrays of vectors that
/// it indexes stay in registers; g++ 12 leaves plain lambdas out of line even in a flattened function.
#undef RETORT_UNROLLED
#define RETORT_UNROLLED HWY_ATTR __attribute__((always_inline))
template <size_t kCount, typename F>
HWY_INLINE void unroll(F&& f) {
  [&]<size_t... i>(std::index_sequence<i...>) RETORT_UNROLLED { (f(std::integral_constant<size_t, i>{}), ...); }
  (std::make_index_sequence<kCount>{});
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
