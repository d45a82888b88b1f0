// Packing of B into panels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/pack.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using hn::Half;

/// Concatenates the first four floats of rows `row`, row + 4, row + 8, … of a matrix.
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* p, size_t stride) {
  constexpr size_t kN = hn::MaxLanes(D());
  if constexpr (kN == 4) {
    return hn::LoadU(d, p);
  } else {
    const Half<D> half;
    return hn::Combine(d, load_quads(half, p + kN / 2 * stride, stride), load_quads(half, p, stride));
  }
}

/// Four steps of k for kLanes columns whose elements lie one after another in memory: a transposition of quads.
HWY_INLINE void transpose_step(const float* b, size_t stride, float* to) {
  const FloatTag d;
  const hn::Repartition<double, FloatTag> dd;
  const Float r0 = load_quads(d, b, stride), r1 = load_quads(d, b + stride, stride);
  const Float r2 = load_quads(d, b + 2 * stride, stride), r3 = load_quads(d, b + 3 * stride, stride);
  const auto low01 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));
  const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
  const auto low23 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
  const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
  hn::Store(hn::BitCast(d, hn::InterleaveLower(dd, low01, low23)), d, to);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(dd, low01, low23)), d, to + kWidth);
  hn::Store(hn::BitCast(d, hn::InterleaveLower(dd, high01, high23)), d, to + 2 * kWidth);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(dd, high01, high23)), d, to + 3 * kWidth);
}

/// The whole of one panel's columns, which lie in rows of memory.
void pack_transposed_panel(const float* b, size_t column_stride, size_t k, float* to) {
  size_t i = 0;
  for (; i + 4 <= k; i += 4) {
    transpose_step(b + i, column_stride, to + i * kWidth);
    transpose_step(b + kLanes * column_stride + i, column_stride, to + i * kWidth + kLanes);
  }
  for (; i < k; ++i) {
    for (size_t j = 0; j < kWidth; ++j) to[i * kWidth + j] = b[j * column_stride + i];
  }
}

void pack_panel_rows(const float* b, size_t row_stride, size_t k, float* to) {
  const FloatTag d;
  for (size_t i = 0; i < k; ++i, b += row_stride, to += kWidth) {
    hn::Store(hn::LoadU(d, b), d, to);
    hn::Store(hn::LoadU(d, b + kLanes), d, to + kLanes);
  }
}

}  // namespace

void gemm_pack(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t n, float* packed) noexcept {
  for (size_t j = 0; j < n; j += kWidth, b += kWidth * column_stride, packed += kWidth * k) {
    const size_t columns = std::min(kWidth, n - j);
    if (columns == kWidth && column_stride == 1) {
      pack_panel_rows(b, row_stride, k, packed);
    } else if (columns == kWidth && row_stride == 1) {
      pack_transposed_panel(b, column_stride, k, packed);
    } else {
      for (size_t i = 0; i < k; ++i) {
        float* to = packed + i * kWidth;
        for (size_t c = 0; c < columns; ++c) to[c] = b[i * row_stride + c * column_stride];
        std::fill(to + columns, to + kWidth, 0.0f);
      }
    }
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void gemm_pack_b(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t n, float* packed) noexcept {
  RETORT_SELECT(gemm_pack)(b, row_stride, column_stride, k, n, packed);
}

}  // namespace retort::kernels
#endif
