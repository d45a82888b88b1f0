// Sums over contiguous floats in one fixed order. Per-target include guard: include after <hwy/highway.h>.
#if defined(RETORT_KERNELS_REDUCE_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_REDUCE_SUMS_INL_H_
#undef RETORT_KERNELS_REDUCE_SUMS_INL_H_
#else
#define RETORT_KERNELS_REDUCE_SUMS_INL_H_
#endif

#include <algorithm>

#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

/// Calls add(sum, v) for the vectors v of n floats, by lanes and in four chains. For up to a few thousand elements.
template <class D, class Add>
HWY_INLINE hn::Vec<D> LaneSums(D d, const float* p, size_t n, const Add& add) {
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = add(s0, hn::LoadU(d, p + i));
    s1 = add(s1, hn::LoadU(d, p + i + lanes));
    s2 = add(s2, hn::LoadU(d, p + i + 2 * lanes));
    s3 = add(s3, hn::LoadU(d, p + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = add(s0, hn::LoadU(d, p + i));
  if (i < n) s1 = hn::IfThenElse(hn::FirstN(d, n - i), add(s1, LoadFirst(d, p + i, n - i)), s1);
  return hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
}

/// The same for any n: blocks of 1024 in float, their sums in double. A chain has at most 1024 / (4·lanes) terms, so
/// the error stays near that of one rounding.
template <class D, class Add>
HWY_INLINE double BlockedSum(D d, const float* p, size_t n, const Add& add) {
  constexpr size_t kBlock = 1024;
  double total = 0;
  for (size_t i = 0; i < n; i += kBlock) {
    total += double(hn::GetLane(hn::SumOfLanes(d, LaneSums(d, p + i, std::min(kBlock, n - i), add))));
  }
  return total;
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
