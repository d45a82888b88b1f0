#include "kernels/attention/rows.h"

#include "kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/rows.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// kItems dot products of one row: enough independent chains to hide the latency of the multiply-add.
template <size_t kItems>
HWY_INLINE void dots(const float* x, const float* items, size_t stride, size_t size, float* out) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kItems];
  for (size_t k = 0; k < kItems; ++k) sums[k] = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const V v = hn::LoadU(d, x + i);
    for (size_t k = 0; k < kItems; ++k) sums[k] = hn::MulAdd(v, hn::LoadU(d, items + k * stride + i), sums[k]);
  }
  if (i < size) {
    const V v = LoadFirst(d, x + i, size - i);
    for (size_t k = 0; k < kItems; ++k)
      sums[k] = hn::MulAdd(v, LoadFirst(d, items + k * stride + i, size - i), sums[k]);
  }
  for (size_t k = 0; k < kItems; ++k) out[k] = hn::GetLane(hn::SumOfLanes(d, sums[k]));
}

constexpr size_t kItems = 8;

void dot_rows(const RowItems& s, const float* x, const float* items, float* scores) noexcept {
  size_t j = 0;
  for (; j + kItems <= s.count; j += kItems) {
    for (size_t r = 0; r < s.rows; ++r)
      dots<kItems>(x + r * s.row_stride, items + j * s.item_stride, s.item_stride, s.size,
                   scores + r * s.score_stride + j);
  }
  for (; j < s.count; ++j) {
    for (size_t r = 0; r < s.rows; ++r)
      dots<1>(x + r * s.row_stride, items + j * s.item_stride, s.item_stride, s.size, scores + r * s.score_stride + j);
  }
}

// kVectors vectors of the result of one row, over all items.
template <size_t kVectors>
HWY_INLINE void weighted(const RowItems& s, const float* scores, const float* items, size_t tail, float* y) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kVectors];
  for (size_t k = 0; k < kVectors; ++k) sums[k] = hn::Zero(d);
  for (size_t j = 0; j < s.count; ++j) {
    const V w = hn::Set(d, scores[j]);
    const float* item = items + j * s.item_stride;
    for (size_t k = 0; k < kVectors; ++k) {
      const V v = tail ? LoadFirst(d, item, tail) : hn::LoadU(d, item + k * lanes);
      sums[k] = hn::MulAdd(w, v, sums[k]);
    }
  }
  for (size_t k = 0; k < kVectors; ++k) {
    if (tail)
      StoreFirst(d, sums[k], y, tail);
    else
      hn::StoreU(sums[k], d, y + k * lanes);
  }
}

void weighted_rows(const RowItems& s, const float* scores, const float* items, float* y) noexcept {
  const size_t lanes = hn::Lanes(D());
  for (size_t r = 0; r < s.rows; ++r) {
    const float* w = scores + r * s.score_stride;
    float* to = y + r * s.row_stride;
    size_t i = 0;
    for (; i + 4 * lanes <= s.size; i += 4 * lanes) weighted<4>(s, w, items + i, 0, to + i);
    for (; i + lanes <= s.size; i += lanes) weighted<1>(s, w, items + i, 0, to + i);
    if (i < s.size) weighted<1>(s, w, items + i, s.size - i, to + i);
  }
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void dot_rows(const RowItems& shape, const float* x, const float* items, float* scores) noexcept {
  RETORT_SELECT(dot_rows)(shape, x, items, scores);
}
void weighted_rows(const RowItems& shape, const float* scores, const float* items, float* y) noexcept {
  RETORT_SELECT(weighted_rows)(shape, scores, items, y);
}

}  // namespace retort::kernels
#endif
