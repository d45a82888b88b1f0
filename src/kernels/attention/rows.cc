#include "kernels/attention/rows.h"

#include <atomic>

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

// Loads kVectors vectors from each of kItems items. Items mostly come from memory, whose prefetchers follow sequential
// reads: the fence keeps compilers from mixing the loads, which would read half as fast.
template <size_t kItems, size_t kVectors>
HWY_INLINE void accumulate(const float* x, const float* items, size_t stride, V* sums) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V v[kVectors];
  for (size_t c = 0; c < kVectors; ++c) v[c] = hn::LoadU(d, x + c * lanes);
  for (size_t k = 0; k < kItems; ++k) {
    for (size_t c = 0; c < kVectors; ++c)
      sums[k] = hn::MulAdd(v[c], hn::LoadU(d, items + k * stride + c * lanes), sums[k]);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // only for the compiler
  }
}

// For each n, the sum of lanes [4 n, 4 n + 4) of x.
template <class Tag>
HWY_INLINE hn::Vec<hn::CappedTag<float, 4>> sum_of_blocks([[maybe_unused]] Tag d, hn::Vec<Tag> x) {
  if constexpr (hn::MaxLanes(Tag()) > 4) {
    const hn::Half<Tag> half;
    return sum_of_blocks(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
  } else {
    return x;
  }
}

// The sums of the lanes of four vectors at once: much less work than one after the other.
HWY_INLINE void sums_of_lanes(const V* x, float* out) {
  const D d;
  const hn::RepartitionToWide<D> wide;
  const V x01 = hn::Add(hn::InterleaveLower(d, x[0], x[1]), hn::InterleaveUpper(d, x[0], x[1]));
  const V x23 = hn::Add(hn::InterleaveLower(d, x[2], x[3]), hn::InterleaveUpper(d, x[2], x[3]));
  const auto first = hn::BitCast(wide, x01), second = hn::BitCast(wide, x23);
  const V lower = hn::BitCast(d, hn::InterleaveLower(wide, first, second));
  const V upper = hn::BitCast(d, hn::InterleaveUpper(wide, first, second));
  hn::StoreU(sum_of_blocks(d, hn::Add(lower, upper)), hn::CappedTag<float, 4>(), out);
}

// kItems (4 or 1) dot products of one row.
template <size_t kItems>
HWY_INLINE void dots(const float* x, const float* items, size_t stride, size_t size, float* out) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kItems];
  for (size_t k = 0; k < kItems; ++k) sums[k] = hn::Zero(d);
  size_t i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes) accumulate<kItems, 4>(x + i, items + i, stride, sums);
  for (; i + lanes <= size; i += lanes) accumulate<kItems, 1>(x + i, items + i, stride, sums);
  if (i < size) {
    const V v = LoadFirst(d, x + i, size - i);
    for (size_t k = 0; k < kItems; ++k)
      sums[k] = hn::MulAdd(v, LoadFirst(d, items + k * stride + i, size - i), sums[k]);
  }
  if constexpr (kItems == 4)
    sums_of_lanes(sums, out);
  else
    out[0] = hn::GetLane(hn::SumOfLanes(d, sums[0]));
}

void dot_rows(const RowItems& s, const float* x, const float* items, float* scores) noexcept {
  constexpr size_t kItems = 4;
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

// kVectors vectors of the result of one row, summed over all items.
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
