// Copies of inputs into scratch. Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_CONV_COPY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_CONV_COPY_INL_H_
#undef RETORT_KERNELS_CONV_COPY_INL_H_
#else
#define RETORT_KERNELS_CONV_COPY_INL_H_
#endif

#include "kernels/conv/lanes-inl.h"
#include "kernels/conv/taps.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

/// Copies n floats. Writes whole vectors: surplus floats are overwritten by the next copy, or are in the slack after
/// the last row. Returns the end.
HWY_INLINE float* copy_run(const float* from, size_t n, float* to) {
  const FloatTag d;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i < n) hn::StoreU(load_first(from + i, n - i), d, to + i);
  return to + n;
}

/// Writes n zeros in the same way.
HWY_INLINE float* zero_run(size_t n, float* to) {
  const FloatTag d;
  for (size_t i = 0; i < n; i += kLanes) hn::StoreU(hn::Zero(d), d, to + i);
  return to + n;
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
