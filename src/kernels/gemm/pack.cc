// Packing of B into panels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/pack.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/tile-inl.h"
#include "kernels/unaligned.h"

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

/// Four steps of k for as many columns as D has lanes, when the elements of a column lie one after another in memory: a
/// transposition of quads.
template <class D>
HWY_INLINE void transpose_step(D d, const float* b, size_t stride, float* to) {
  const hn::Repartition<double, D> dd;
  const auto r0 = load_quads(d, b, stride), r1 = load_quads(d, b + stride, stride);
  const auto r2 = load_quads(d, b + 2 * stride, stride), r3 = load_quads(d, b + 3 * stride, stride);
  const auto low01 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));
  const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
  const auto low23 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
  const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
  hn::Store(hn::BitCast(d, hn::InterleaveLower(dd, low01, low23)), d, to);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(dd, low01, low23)), d, to + kWidth);
  hn::Store(hn::BitCast(d, hn::InterleaveLower(dd, high01, high23)), d, to + 2 * kWidth);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(dd, high01, high23)), d, to + 3 * kWidth);
}

/// One panel whose elements lie anywhere.
void pack_any(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t columns, float* to) {
  for (size_t i = 0; i < k; ++i, b += row_stride, to += kWidth) {
    for (size_t c = 0; c < columns; ++c) to[c] = load_unaligned(b, c * column_stride);
    std::fill(to + columns, to + kWidth, 0.0f);
  }
}

/// Columns that lie in rows of memory.
void pack_transposed(const float* b, size_t column_stride, size_t k, size_t columns, float* to) {
  const size_t steps = k / 4 * 4, quads = columns / 4 * 4;
  for (size_t i = 0; i < steps; i += 4) {
    float* at = to + i * kWidth;
    size_t c = 0;
    for (; c + kLanes <= columns; c += kLanes)
      transpose_step(FloatTag(), b + c * column_stride + i, column_stride, at + c);
    for (; c < quads; c += 4) transpose_step(hn::Full128<float>(), b + c * column_stride + i, column_stride, at + c);
    for (size_t row = 0; quads < kWidth && row < 4; ++row, at += kWidth) {
      for (c = quads; c < columns; ++c) at[c] = load_unaligned(b, c * column_stride + i + row);
      std::fill(at + columns, at + kWidth, 0.0f);
    }
  }
  pack_any(b + steps, 1, column_stride, k - steps, columns, to + steps * kWidth);
}

void pack_rows(const float* b, size_t row_stride, size_t k, size_t columns, float* to) {
  const FloatTag d;
  for (size_t i = 0; i < k; ++i, b += row_stride, to += kWidth) {
    for (size_t c = 0; c < kWidth; c += kLanes) {
      const size_t n = columns - std::min(c, columns);
      hn::Store(n >= kLanes ? hn::LoadU(d, b + c) : n == 0 ? hn::Zero(d) : LoadFirst(d, b + c, n), d, to + c);
    }
  }
}

}  // namespace

void gemm_pack(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t n, float* packed) noexcept {
  for (size_t j = 0; j < n; j += kWidth, b += kWidth * column_stride, packed += kWidth * k) {
    const size_t columns = std::min(kWidth, n - j);
    if (column_stride == 1) {
      pack_rows(b, row_stride, k, columns, packed);
    } else if (row_stride == 1) {
      pack_transposed(b, column_stride, k, columns, packed);
    } else {
      pack_any(b, row_stride, column_stride, k, columns, packed);
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
