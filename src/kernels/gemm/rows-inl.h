// The rows of A that a tile reads. Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_GEMM_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_ROWS_INL_H_
#undef RETORT_KERNELS_GEMM_ROWS_INL_H_
#else
#define RETORT_KERNELS_GEMM_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/gemm/panel.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using gemm_detail::kGatheredSteps;
using gemm_detail::TileArgs;

/// A as it is. One pointer addresses three rows, because twelve pointers would not fit the general registers.
template <size_t kRows>
struct PlainRows {
  static constexpr size_t kPointers = (kRows + 2) / 3;
  const float* a[kPointers];
  size_t stride, i = 0;

  explicit HWY_INLINE PlainRows(const TileArgs& t) : stride(t.a_stride) {
#pragma GCC unroll 4
    for (size_t g = 0; g < kPointers; ++g) a[g] = t.a + g * 3 * stride;
  }
  HWY_INLINE const float& at(size_t row, size_t ahead) const { return a[row / 3][row % 3 * stride + i + ahead]; }
  HWY_INLINE void advance(size_t steps) { i += steps; }
};

/// A in the order of gather_rows() (gemm_plan.h).
template <size_t kRows>
struct GatheredRows {
  const float* a;

  explicit HWY_INLINE GatheredRows(const TileArgs& t) : a(t.a) {}
  HWY_INLINE const float& at(size_t row, size_t ahead) const { return a[row * kGatheredSteps + ahead]; }
  HWY_INLINE void advance(size_t steps) { a += steps == kGatheredSteps ? steps * kRows : steps; }
};

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
