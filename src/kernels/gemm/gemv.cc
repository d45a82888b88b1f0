// One row times a matrix: one that is not packed, or a small packed one that stays in the caches. For the former, the
// speed is limited by the memory that B is read from, so each element is read once, in order, with eight independent
// chains of additions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemv.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/dispatch.h"
#include "kernels/gemm/gemm.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using FloatTag = hn::ScalableTag<float>;
using Quad = hn::Full128<float>;
using Float = hn::Vec<FloatTag>;
constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);
constexpr size_t kChains = 8;

/// The sum of the 128-bit blocks.
template <class D>
HWY_INLINE hn::Vec<Quad> fold(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) == 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// The sums of the lanes of four vectors.
HWY_INLINE hn::Vec<Quad> sum_each(Float v0, Float v1, Float v2, Float v3) {
  const FloatTag d;
  const hn::Repartition<double, FloatTag> dd;
  const Float v01 = hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1));
  const Float v23 = hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3));
  const auto low = hn::InterleaveLower(dd, hn::BitCast(dd, v01), hn::BitCast(dd, v23));
  const auto high = hn::InterleaveUpper(dd, hn::BitCast(dd, v01), hn::BitCast(dd, v23));
  const Float quads = hn::Add(hn::BitCast(d, low), hn::BitCast(d, high));
  return fold(d, quads);
}

/// Sums of products of x and kRows rows, one per lane. Runs of eight vectors of x stay in registers; a row is read run
/// by run, because small steps in several rows at once are slow to fetch from memory.
struct RowSums {
  static constexpr size_t kRows = 4, kSets = kChains / kRows;
  Float sum[kRows][kSets];
  const float* row[kRows];

  /// kVectors vectors; n > 0: only the first n floats of one vector.
  template <size_t kVectors>
  HWY_INLINE void add(const float* x, size_t at, size_t n = 0) {
    constexpr size_t kFloatsAhead = 1024;  // into the second-level cache: 28 GB/s from memory instead of 17
    const auto load = [n](const float* p)
                          HWY_ATTR { return n == 0 ? hn::LoadU(FloatTag(), p) : LoadFirst(FloatTag(), p, n); };
    Float xv[kVectors];
#pragma GCC unroll 8
    for (size_t v = 0; v < kVectors; ++v) xv[v] = load(x + at + v * kLanes);
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (size_t v = 0; v < kVectors; ++v) {
        const float* p = row[r] + at + v * kLanes;
        __builtin_prefetch(p + kFloatsAhead, 0, 2);
        sum[r][v % kSets] = hn::MulAdd(xv[v], load(p), sum[r][v % kSets]);
      }
    }
  }
};

/// sums[r] = x · row[r]
HWY_INLINE void dot_rows(RowSums& rows, const float* x, size_t k, float* sums) {
  for (auto& sets : rows.sum) {
    for (Float& s : sets) s = hn::Zero(FloatTag());
  }
  size_t i = 0;
  for (; i + 8 * kLanes <= k; i += 8 * kLanes) rows.add<8>(x, i);
  if (i + 4 * kLanes <= k) rows.add<4>(x, i), i += 4 * kLanes;
  if (i + 2 * kLanes <= k) rows.add<2>(x, i), i += 2 * kLanes;
  if (i + kLanes <= k) rows.add<1>(x, i), i += kLanes;
  if (i < k) rows.add<1>(x, i, k - i);
  const auto total = [&rows](size_t r) HWY_ATTR { return hn::Add(rows.sum[r][0], rows.sum[r][1]); };
  hn::StoreU(sum_each(total(0), total(1), total(2), total(3)), Quad(), sums);
}

}  // namespace

void rows_times_vector(const GemvArgs& g) noexcept {
  constexpr size_t kRows = RowSums::kRows;
  for (size_t j = 0; j < g.n; j += kRows) {
    const size_t count = std::min(kRows, g.n - j);
    RowSums rows;
    for (size_t r = 0; r < kRows; ++r) rows.row[r] = g.b + (j + std::min(r, count - 1)) * g.b_stride;
    float sums[kRows];
    dot_rows(rows, g.x, g.k, sums);
    for (size_t r = 0; r < count; ++r) g.y[j + r] = g.accumulate ? g.y[j + r] + sums[r] : sums[r];
  }
}

namespace {

constexpr size_t kPanelWidth = 2 * kLanes;

/// Columns of kPanels panels that are `apart` columns from each other, from n0: as many chains of additions as hide the
/// latency of one. Not inlined, because two functions use it.
template <size_t kPanels>
HWY_NOINLINE void row_times_panels(const GemmArgs& g, size_t n0, size_t apart = kPanelWidth) {
  const FloatTag d;
  const float* const b = static_cast<const float*>(g.packed_b.data) + n0 * g.k;
  const size_t panel = apart * g.k;
  Float sum[2 * kPanels];
#pragma GCC unroll 8
  for (Float& s : sum) s = hn::Zero(d);
  for (size_t i = 0; i < g.k; ++i) {
    const Float a = hn::Set(d, g.a[i]);
#pragma GCC unroll 8
    for (size_t v = 0; v < 2 * kPanels; ++v) {
      sum[v] = hn::MulAdd(a, hn::Load(d, b + v / 2 * panel + i * kPanelWidth + v % 2 * kLanes), sum[v]);
    }
  }
  const float *const bias = g.epilogue.bias, *const residual = g.epilogue.residual;
#pragma GCC unroll 8
  for (size_t v = 0; v < 2 * kPanels; ++v) {
    const size_t at = n0 + v / 2 * apart + v % 2 * kLanes;
    if (at + kLanes <= g.n) {
      if (bias) sum[v] = hn::Add(sum[v], hn::LoadU(d, bias + at));
      if (residual) sum[v] = hn::Add(sum[v], hn::LoadU(d, residual + at));
      hn::StoreU(sum[v], d, g.c + at);
    } else if (at < g.n) {
      const size_t left = g.n - at;
      if (bias) sum[v] = hn::Add(sum[v], LoadFirst(d, bias + at, left));
      if (residual) sum[v] = hn::Add(sum[v], LoadFirst(d, residual + at, left));
      StoreFirst(d, sum[v], g.c + at, left);
    }
  }
}

}  // namespace

void row_times_packed(const GemmArgs& g) noexcept {
  constexpr size_t kStep = 4 * kPanelWidth;
  size_t n0 = 0;
  for (; n0 + 3 * kPanelWidth < g.n; n0 += kStep) row_times_panels<4>(g, n0);
  if (n0 >= g.n) return;
  if (n0 + 2 * kPanelWidth < g.n) return row_times_panels<3>(g, n0);
  if (n0 + kPanelWidth < g.n) return row_times_panels<2>(g, n0);
  row_times_panels<1>(g, n0);
}

void row_times_groups(const GemmArgs& g, const ColumnGroups& c) noexcept {
  const size_t group = g.n / c.count;
  for (size_t i = c.n0; i < c.n1; i += kPanelWidth) {
    const size_t n0 = c.backwards ? c.n0 + c.n1 - kPanelWidth - i : i;
    if (c.count == 4) {
      row_times_panels<4>(g, n0, group);
    } else if (c.count == 3) {
      row_times_panels<3>(g, n0, group);
    } else {
      for (size_t p = 0; p < c.count; p += 2) {
        if (p + 2 <= c.count)
          row_times_panels<2>(g, n0 + p * group, group);
        else
          row_times_panels<1>(g, n0 + p * group);
      }
    }
  }
}

namespace {

/// Adds kSteps rows of B, times the elements of kRows rows of A, to `columns` elements of C, or sets C to that sum. So B
/// is read once, in order, and C stays in the first-level cache.
template <size_t kRows, size_t kSteps>
HWY_INLINE void add_rows(const FewRowsArgs& g, const float* a, const float* b, float* c, size_t columns, bool sets) {
  const FloatTag d;
  Float x[kRows][kSteps];
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (size_t s = 0; s < kSteps; ++s) x[r][s] = hn::Set(d, a[r * g.a_stride + s]);
  }
  const auto columns_at = [&](auto load, auto store, size_t j) HWY_ATTR {
    Float sum[kRows];
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) sum[r] = sets ? hn::Zero(d) : load(c + r * g.c_stride + j);
#pragma GCC unroll 8
    for (size_t s = 0; s < kSteps; ++s) {
      const Float v = load(b + s * g.b_stride + j);
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) sum[r] = hn::MulAdd(x[r][s], v, sum[r]);
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) store(sum[r], c + r * g.c_stride + j);
  };
  size_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    columns_at([](const float* p) HWY_ATTR { return hn::LoadU(FloatTag(), p); },
               [](Float v, float* p) HWY_ATTR { hn::StoreU(v, FloatTag(), p); }, j);
  }
  if (j == columns) return;
  const size_t left = columns - j;
  columns_at([left](const float* p) HWY_ATTR { return LoadFirst(FloatTag(), p, left); },
             [left](Float v, float* p) HWY_ATTR { StoreFirst(FloatTag(), v, p, left); }, j);
}

/// Columns [n0, n0 + columns), steps [k0, k1). The elements of kSteps steps of A stay in registers.
template <size_t kRows>
void add_steps(const FewRowsArgs& g, size_t n0, size_t columns, size_t k0, size_t k1) {
  constexpr size_t kSteps = std::min<size_t>((kLanes == 16 ? 16 : 8) / kRows, 4);
  size_t i = k0;
  for (; i + kSteps <= k1; i += kSteps)
    add_rows<kRows, kSteps>(g, g.a + i, g.b + i * g.b_stride + n0, g.c + n0, columns, i == 0);
  for (; i < k1; ++i) add_rows<kRows, 1>(g, g.a + i, g.b + i * g.b_stride + n0, g.c + n0, columns, i == 0);
}

}  // namespace

void few_rows_times_matrix(const FewRowsArgs& whole) noexcept {
  // A block of B stays in the second-level cache for all rows. It is as wide as C in the first-level cache allows,
  // because neighbouring memory is read fastest.
  constexpr size_t kMostRows = 4, kColumns = 2048, kDepth = 32;
  constexpr void (*kBySize[])(const FewRowsArgs&, size_t, size_t, size_t, size_t) = {&add_steps<1>, &add_steps<2>,
                                                                                     &add_steps<3>, &add_steps<4>};
  for (size_t r = 0; whole.k == 0 && r < whole.m; ++r) std::fill_n(whole.c + r * whole.c_stride, whole.n, 0.0f);
  const size_t depth = whole.m <= kMostRows ? whole.k : kDepth;
  for (size_t n0 = 0; n0 < whole.n; n0 += kColumns) {
    for (size_t k0 = 0; k0 < whole.k; k0 += depth) {
      FewRowsArgs g = whole;
      while (g.m > 0) {
        const size_t rows = std::min(g.m, kMostRows);
        kBySize[rows - 1](g, n0, std::min(kColumns, g.n - n0), k0, std::min(k0 + depth, g.k));
        g.a += rows * g.a_stride;
        g.c += rows * g.c_stride;
        g.m -= rows;
      }
    }
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void gemv_rows(const GemvArgs& args) noexcept { RETORT_SELECT(rows_times_vector)(args); }
void gemm_few_rows(const FewRowsArgs& args) noexcept { RETORT_SELECT(few_rows_times_matrix)(args); }
void gemv_packed_groups(const GemmArgs& args, const ColumnGroups& groups) noexcept {
  RETORT_SELECT(row_times_groups)(args, groups);
}
void gemv_packed(const GemmArgs& args) noexcept { RETORT_SELECT(row_times_packed)(args); }

}  // namespace retort::kernels
#endif
