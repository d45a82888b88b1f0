#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_wide.cc"
#include "kernels/gemm/gemm_wide.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/checked.h"
#include "base/grid_order.h"
#include "kernels/dispatch.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

/// Largest block of k: that part of a panel is at most 32 KiB.
constexpr size_t kRun = 256;

template <typename T>
using WideTag = hn::ScalableTag<T>;
template <typename T>
constexpr size_t kWideLanes = HWY_MAX_BYTES / sizeof(T);
constexpr size_t kWideRows = kAccumulators / 2;

template <typename T, class V>
HWY_INLINE V wide_mul_add(V a, V b, V sum) {
  if constexpr (std::is_same_v<T, double>) {
    return hn::MulAdd(a, b, sum);
  } else if constexpr (sizeof(T) == 4) {
    return hn::Add(hn::Mul(a, b), sum);
  } else {
#if HWY_TARGET <= HWY_AVX3
    return hn::Add(V{_mm512_mullo_epi64(a.raw, b.raw)}, sum);
#else
    const hn::Repartition<uint32_t, WideTag<T>> halves;
    const auto product = [&](V x, V y) HWY_ATTR {
      return hn::BitCast(WideTag<T>(), hn::MulEven(hn::BitCast(halves, x), hn::BitCast(halves, y)));
    };
    const V mixed = hn::Add(product(hn::ShiftRight<32>(a), b), product(a, hn::ShiftRight<32>(b)));
    return hn::Add(hn::Add(product(a, b), hn::ShiftLeft<32>(mixed)), sum);
#endif
  }
}

/// Rows of A that were copied: [k][kRows].
template <typename T, size_t kRows>
struct CopiedRows {
  const T* a;
  HWY_INLINE T at(size_t row) const { return a[row]; }
  HWY_INLINE void advance() { a += kRows; }
};

/// Rows of A where they are. One pointer addresses three rows, because twelve would not fit the general registers.
template <typename T, size_t kRows>
struct RowsInPlace {
  const T* a[(kRows + 2) / 3];
  size_t stride, i = 0;
  RowsInPlace(const T* first, size_t row) : stride(row) {
#pragma GCC unroll 4
    for (size_t g = 0; g < (kRows + 2) / 3; ++g) a[g] = first + g * 3 * row;
  }
  HWY_INLINE T at(size_t row) const { return a[row / 3][row % 3 * stride + i]; }
  HWY_INLINE void advance() { ++i; }
};

/// sums [kRows][2 vectors] = A · B, where `b` points to a panel; only the first kVectors of each row are set.
template <typename T, size_t kRows, size_t kVectors, class Rows>
void wide_tile(Rows a, const T* b, size_t k, T* sums) noexcept {
  const WideTag<T> d;
  constexpr size_t kLanes = kWideLanes<T>;
  hn::Vec<WideTag<T>> s[kRows][kVectors];
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) s[r][v] = hn::Zero(d);
  }
  for (size_t i = 0; i < k; ++i, a.advance(), b += 2 * kLanes) {
    hn::Vec<WideTag<T>> bv[kVectors];
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) bv[v] = hn::Load(d, b + v * kLanes);
#pragma GCC unroll 12
    for (size_t r = 0; r < kRows; ++r) {
      const auto x = hn::Set(d, a.at(r));
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) s[r][v] = wide_mul_add<T>(x, bv[v], s[r][v]);
    }
  }
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) hn::Store(s[r][v], d, sums + (2 * r + v) * kLanes);
  }
}

/// Sets C to the sums, or adds them to it.
template <typename T>
void store_wide(const T* sums, size_t rows, size_t columns, bool add, T* c, size_t stride) {
  const WideTag<T> d;
  constexpr size_t kLanes = kWideLanes<T>;
  for (size_t r = 0; r < rows; ++r, sums += 2 * kLanes, c += stride) {
    for (size_t at = 0; at < columns; at += kLanes) {
      const size_t n = columns - at;
      auto v = hn::Load(d, sums + at);
      if (add) v = hn::Add(v, n < kLanes ? LoadFirst(d, c + at, n) : hn::LoadU(d, c + at));
      n < kLanes ? StoreFirst(d, v, c + at, n) : hn::StoreU(v, d, c + at);
    }
  }
}

/// Rows of the tile for this number of rows; the other rows are zeros.
constexpr size_t wide_rows(size_t count) { return count == 1 ? 1 : kWideRows; }

/// Whole tiles of rows times few columns read A where it is: to copy it first would take about as long as the product.
/// Integers are multiplied slowly enough. Returns the first row that is left.
template <typename T>
size_t narrow_part(const GemmWideArgs& g, const WidePart& p) {
  constexpr size_t kLanes = kWideLanes<T>, kWidth = 2 * kLanes;
  size_t m = p.m0;
  if constexpr (std::is_same_v<T, double>) {
    if (p.n1 - p.n0 > kWidth || g.a_column != 1) return m;
    alignas(64) T sums[kWideRows * kWidth];
    for (; m + kWideRows <= p.m1; m += kWideRows) {
      T* const c = static_cast<T*>(g.c) + m * g.c_stride + p.n0;
      for (size_t k0 = 0; k0 == 0 || k0 < g.k; k0 += kRun) {
        const size_t k = std::min(kRun, g.k - k0), columns = p.n1 - p.n0;
        const RowsInPlace<T, kWideRows> a(static_cast<const T*>(g.a) + m * g.a_row + k0, g.a_row);
        const T* const b = static_cast<const T*>(g.packed_b) + p.n0 * g.k + k0 * kWidth;
        columns > kLanes ? wide_tile<T, kWideRows, 2>(a, b, k, sums) : wide_tile<T, kWideRows, 1>(a, b, k, sums);
        store_wide(sums, kWideRows, columns, k0 > 0, c, g.c_stride);
      }
    }
  }
  return m;
}

template <typename T>
void wide_part(const GemmWideArgs& g, const WidePart& whole) {
  constexpr size_t kWidth = 2 * kWideLanes<T>;
  WidePart p = whole;
  p.m0 = narrow_part<T>(g, whole);
  alignas(64) T rows[kWideRows * kRun], sums[kWideRows * kWidth];
  for (size_t k0 = 0; k0 == 0 || k0 < g.k; k0 += kRun) {
    const size_t k = std::min(kRun, g.k - k0);
    for (size_t m0 = p.m0; m0 < p.m1; m0 += kWideRows) {
      const size_t count = std::min(kWideRows, p.m1 - m0), tall = wide_rows(count);
      const T* a = static_cast<const T*>(g.a) + m0 * g.a_row + k0 * g.a_column;
      for (size_t r = 0; r < tall; ++r) {
        for (size_t i = 0; i < k; ++i) rows[i * tall + r] = r < count ? a[r * g.a_row + i * g.a_column] : T(0);
      }
      for (size_t n0 = p.n0; n0 < p.n1; n0 += kWidth) {
        const T* const b = static_cast<const T*>(g.packed_b) + n0 * g.k + k0 * kWidth;
        if (tall == 1)
          wide_tile<T, 1, 2>(CopiedRows<T, 1>{rows}, b, k, sums);
        else
          wide_tile<T, kWideRows, 2>(CopiedRows<T, kWideRows>{rows}, b, k, sums);
        store_wide(sums, count, std::min(kWidth, p.n1 - n0), k0 > 0, static_cast<T*>(g.c) + m0 * g.c_stride + n0,
                   g.c_stride);
      }
    }
  }
}

template <typename T>
void dot_rows(const GemvWideArgs& g, size_t begin, size_t end) {
  const WideTag<T> d;
  constexpr size_t kLanes = kWideLanes<T>;
  const T* const x = static_cast<const T*>(g.x);
  for (size_t r = begin; r < end; ++r) {
    const T* const a = static_cast<const T*>(g.a) + r * g.a_row;
    auto s0 = hn::Zero(d), s1 = s0;
    size_t i = 0;
    for (; i + 2 * kLanes <= g.k; i += 2 * kLanes) {
      s0 = wide_mul_add<T>(hn::LoadU(d, a + i), hn::LoadU(d, x + i), s0);
      s1 = wide_mul_add<T>(hn::LoadU(d, a + i + kLanes), hn::LoadU(d, x + i + kLanes), s1);
    }
    for (; i < g.k; i += kLanes) {
      const size_t n = std::min(kLanes, g.k - i);
      s0 = wide_mul_add<T>(LoadFirst(d, a + i, n), LoadFirst(d, x + i, n), s0);
    }
    static_cast<T*>(g.c)[r] = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
  }
}

}  // namespace

void gemv_wide_part(WideType type, const GemvWideArgs& g, size_t begin, size_t end) noexcept {
  switch (type) {
    case WideType::f64:
      return dot_rows<double>(g, begin, end);
    case WideType::i32:
      return dot_rows<int32_t>(g, begin, end);
    case WideType::i64:
      return dot_rows<int64_t>(g, begin, end);
  }
}

void gemm_wide_part(WideType type, const GemmWideArgs& g, const WidePart& part) noexcept {
  switch (type) {
    case WideType::f64:
      return wide_part<double>(g, part);
    case WideType::i32:
      return wide_part<int32_t>(g, part);
    case WideType::i64:
      return wide_part<int64_t>(g, part);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

size_t wide_bytes(WideType type) { return type == WideType::i32 ? 4 : 8; }

/// Elements are copied as integers of their size.
template <typename T>
void pack_wide(const T* b, size_t row_stride, size_t column_stride, size_t k, size_t columns, size_t width, T* to) {
  constexpr size_t kCopy = 32 / sizeof(T);  // a size that the compiler knows
  const bool whole = column_stride == 1 && columns == width;
  for (size_t i = 0; i < k; ++i, b += row_stride, to += width) {
    for (size_t c = 0; whole && c < width; c += kCopy) std::memcpy(to + c, b + c, kCopy * sizeof(T));
    if (whole) continue;
    for (size_t c = 0; c < columns; ++c) std::memcpy(to + c, b + c * column_stride, sizeof(T));
    std::fill(to + columns, to + width, T(0));
  }
}

}  // namespace

size_t wide_panel_width(WideType type) {
  const size_t vector = current_isa() == Isa::avx512 ? 64 : current_isa() == Isa::avx2 ? 32 : 16;
  return 2 * vector / wide_bytes(type);
}
size_t wide_packed_bytes(WideType type, size_t k, size_t n) {
  return checked_mul(checked_mul(round_up(n, wide_panel_width(type)), k, "packed matrix"), wide_bytes(type),
                     "packed matrix");
}

void wide_pack_b(WideType type, const void* b, size_t row_stride, size_t column_stride, size_t k, size_t n0, size_t n1,
                 void* packed) noexcept {
  const size_t width = wide_panel_width(type);
  for (size_t j = n0; j < n1; j += width) {
    const auto pack = [&](const auto* from, auto* to) {
      pack_wide(from + j * column_stride, row_stride, column_stride, k, std::min(width, n1 - j), width, to + j * k);
    };
    if (wide_bytes(type) == 4)
      pack(static_cast<const uint32_t*>(b), static_cast<uint32_t*>(packed));
    else
      pack(static_cast<const uint64_t*>(b), static_cast<uint64_t*>(packed));
  }
}

void gemm_wide(WideType type, const GemmWideArgs& g, const Parallel& par) noexcept {
  if (g.m == 0 || g.n == 0) return;
  // A task takes at least 10 µs. Each task packs its rows of A again, so there are few groups of columns; a block of k
  // of their panels stays in the second-level cache.
  constexpr size_t kTaskMacs = 256 << 10, kMaxTasks = 32, kRows = 48, kMinColumns = 128, kMaxColumns = 512;
  const size_t width = wide_panel_width(type), panels = ceil_div(g.n, width), row_blocks = ceil_div(g.m, kRows);
  const size_t wanted = std::clamp<size_t>(g.m * g.n * g.k / kTaskMacs, 1, kMaxTasks);
  const size_t most = std::max<size_t>(1, g.n / kMinColumns);
  const size_t groups = std::max(std::min(most, ceil_div(wanted, row_blocks)), ceil_div(g.n, kMaxColumns));
  const size_t columns = ceil_div(panels, groups) * width;
  const auto part = RETORT_SELECT(gemm_wide_part);
  const GridOrder order(row_blocks, ceil_div(g.n, columns), par.workers());
  par.for_each(order.tasks(), [&](size_t task, int) {
    const auto [row, column] = order.at(task);
    const size_t m0 = row * kRows, n0 = column * columns;
    part(type, g, {m0, std::min(m0 + kRows, g.m), n0, std::min(n0 + columns, g.n)});
  });
}

void gemv_wide(WideType type, const GemvWideArgs& g, const Parallel& par) noexcept {
  const auto part = RETORT_SELECT(gemv_wide_part);
  for_chunks(
      par, g.m, [&](size_t begin, size_t end) { part(type, g, begin, end); },
      std::max<size_t>(1, 4 * kChunk / std::max<size_t>(1, g.k)));
}

}  // namespace retort::kernels
#endif
