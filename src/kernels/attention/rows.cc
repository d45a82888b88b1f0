#include "kernels/attention/rows.h"

#include <algorithm>
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

// Asks for `bytes` of an item further on. With that, and with items read once for all rows, a step of SmolLM2 after 750
// tokens takes 4.9 ms in place of 5.3 (Zen 5, one thread, beside other work).
HWY_INLINE void prefetch(const float* items, size_t stride, size_t bytes) {
  constexpr size_t kAhead = 16;
  const char* from = reinterpret_cast<const char*>(items + kAhead * stride);
  for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(from + i, 0, 3);
}

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
  constexpr size_t kItems = kDotItems;
  size_t j = 0;
  for (; j + kItems <= s.count; j += kItems) {
    for (size_t k = 0; k < kItems; ++k)
      prefetch(items + (j + k) * s.item_stride, s.item_stride, s.size * sizeof(float));
    for (size_t r = 0; r < s.rows; ++r)
      dots<kItems>(x + r * s.row_stride, items + j * s.item_stride, s.item_stride, s.size,
                   scores + r * s.score_stride + j);
  }
  for (; j < s.count; ++j) {
    for (size_t r = 0; r < s.rows; ++r)
      dots<1>(x + r * s.row_stride, items + j * s.item_stride, s.item_stride, s.size, scores + r * s.score_stride + j);
  }
}

// kVectors vectors of the results of kRows rows, summed over all items.
template <size_t kRows, size_t kVectors>
HWY_INLINE void weighted(const RowItems& s, const float* scores, const float* items, size_t tail, float* y) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kRows][kVectors];
  for (size_t r = 0; r < kRows; ++r)
    for (size_t k = 0; k < kVectors; ++k) {
      const float* from = y + r * s.row_stride + k * lanes;
      sums[r][k] = !s.adds ? hn::Zero(d) : tail ? LoadFirst(d, from, tail) : hn::LoadU(d, from);
    }
  for (size_t j = 0; j < s.count; ++j) {
    const float* item = items + j * s.item_stride;
    prefetch(item, s.item_stride, kVectors * lanes * sizeof(float));
    for (size_t k = 0; k < kVectors; ++k) {
      const V v = tail ? LoadFirst(d, item, tail) : hn::LoadU(d, item + k * lanes);
      for (size_t r = 0; r < kRows; ++r)
        sums[r][k] = hn::MulAdd(hn::Set(d, scores[r * s.score_stride + j]), v, sums[r][k]);
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t k = 0; k < kVectors; ++k) {
      float* to = y + r * s.row_stride + k * lanes;
      tail ? StoreFirst(d, sums[r][k], to, tail) : hn::StoreU(sums[r][k], d, to);
    }
  }
}

template <size_t kRows>
void some_weighted_rows(const RowItems& s, const float* scores, const float* items, float* y) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + 4 * lanes <= s.size; i += 4 * lanes) weighted<kRows, 4>(s, scores, items + i, 0, y + i);
  for (; i + lanes <= s.size; i += lanes) weighted<kRows, 1>(s, scores, items + i, 0, y + i);
  if (i < s.size) weighted<kRows, 1>(s, scores, items + i, s.size - i, y + i);
}

// As many rows at once as registers hold sums of, so that items are read once.
void weighted_rows(const RowItems& s, const float* scores, const float* items, float* y) noexcept {
  constexpr size_t kMost = std::min<size_t>(4, kAccumulators / 4);
  for (size_t r = 0; r < s.rows;) {
    const size_t rows = std::min(s.rows - r, kMost);
    const auto some = rows == 1   ? some_weighted_rows<1>
                      : rows == 2 ? some_weighted_rows<2>
                      : rows == 3 ? some_weighted_rows<3>
                                  : some_weighted_rows<kMost>;
    some(s, scores + r * s.score_stride, items, y + r * s.row_stride);
    r += rows;
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
