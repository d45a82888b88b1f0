// Rounding of vectors to pairs of bfloat16 numbers. Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_GEMM_BF16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_BF16_INL_H_
#undef RETORT_KERNELS_GEMM_BF16_INL_H_
#else
#define RETORT_KERNELS_GEMM_BF16_INL_H_
#endif

#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using WordTag = hn::RebindToUnsigned<hn::ScalableTag<float>>;
using Words = hn::Vec<WordTag>;

/// The nearest bfloat16 in the upper half; NaN stays NaN. The lower half is arbitrary.
HWY_INLINE Words rounded(hn::Vec<hn::ScalableTag<float>> v) {
  const WordTag d;
  const Words bits = hn::BitCast(d, v), odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const Words nearest = hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fff)));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(v)), hn::Or(bits, hn::Set(d, 0x400000)), nearest);
}
HWY_INLINE Words pair(hn::Vec<hn::ScalableTag<float>> first, hn::Vec<hn::ScalableTag<float>> second) {
  return hn::Or(hn::ShiftRight<16>(rounded(first)), hn::And(rounded(second), hn::Set(WordTag(), 0xffff0000)));
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
