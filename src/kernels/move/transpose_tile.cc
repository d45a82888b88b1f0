#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/move/transpose_tile.cc"
#include "kernels/move/transpose_tile.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/dispatch.h"

#ifndef RETORT_TRANSPOSE_SHARED
#define RETORT_TRANSPOSE_SHARED
namespace retort::kernels {

/// The plain loops, for part of a tile.
template <typename T>
void transpose_part(const TransposeTile& t, size_t row0, size_t row1, size_t column0, size_t column1) {
  T* const to = static_cast<T*>(t.to);
  const T* const from = static_cast<const T*>(t.from);
  for (size_t l = column0; l < column1; ++l) {
    for (size_t j = row0; j < row1; ++j)
      to[ptrdiff_t(j) * t.to_row + ptrdiff_t(l)] = from[ptrdiff_t(l) * t.from_row + ptrdiff_t(j)];
  }
}

}  // namespace retort::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<uint32_t>;
using V = hn::Vec<D>;

constexpr size_t kSide = 16;  // tiles of 16x16: whole cache lines on both sides, read and written once

/// 4x4 transposes within the 128-bit blocks of four vectors: block b of result k holds element k of block b of v0 … v3.
HWY_INLINE void transpose_within_blocks(V v0, V v1, V v2, V v3, V (&out)[4]) {
  const D d;
  const hn::RepartitionToWide<D> dw;
  const auto a = hn::BitCast(dw, hn::InterleaveLower(d, v0, v1)), b = hn::BitCast(dw, hn::InterleaveLower(d, v2, v3));
  const auto e = hn::BitCast(dw, hn::InterleaveUpper(d, v0, v1)), f = hn::BitCast(dw, hn::InterleaveUpper(d, v2, v3));
  out[0] = hn::BitCast(d, hn::InterleaveLower(dw, a, b));
  out[1] = hn::BitCast(d, hn::InterleaveUpper(dw, a, b));
  out[2] = hn::BitCast(d, hn::InterleaveLower(dw, e, f));
  out[3] = hn::BitCast(d, hn::InterleaveUpper(dw, e, f));
}

#if HWY_TARGET <= HWY_AVX3

HWY_INLINE void transpose_tile(const uint32_t* from, ptrdiff_t from_row, uint32_t* to, ptrdiff_t to_row) {
  const D d;
  V t[4][4];  // t[g][k]: element k of every block, rows 4g … 4g + 3
  for (ptrdiff_t g = 0; g < 4; ++g) {
    const uint32_t* const p = from + 4 * g * from_row;
    transpose_within_blocks(hn::LoadU(d, p), hn::LoadU(d, p + from_row), hn::LoadU(d, p + 2 * from_row),
                            hn::LoadU(d, p + 3 * from_row), t[g]);
  }
  for (ptrdiff_t k = 0; k < 4; ++k) {  // the same with blocks as elements
    const V a0 = t[0][k], a1 = t[1][k], a2 = t[2][k], a3 = t[3][k];
    const V even_low = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(a1), a0);
    const V odd_low = hn::OddEvenBlocks(a1, hn::SwapAdjacentBlocks(a0));
    const V even_high = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(a3), a2);
    const V odd_high = hn::OddEvenBlocks(a3, hn::SwapAdjacentBlocks(a2));
    uint32_t* const p = to + k * to_row;
    hn::StoreU(hn::ConcatLowerLower(d, even_high, even_low), d, p);
    hn::StoreU(hn::ConcatLowerLower(d, odd_high, odd_low), d, p + 4 * to_row);
    hn::StoreU(hn::ConcatUpperUpper(d, even_high, even_low), d, p + 8 * to_row);
    hn::StoreU(hn::ConcatUpperUpper(d, odd_high, odd_low), d, p + 12 * to_row);
  }
}

#else

/// Loads four elements of each of the rows p, p + 4·stride, …: one row per 128-bit block.
HWY_INLINE V load_blocks(const uint32_t* p, [[maybe_unused]] ptrdiff_t stride) {
  const hn::FixedTag<uint32_t, 4> b;
#if HWY_TARGET <= HWY_AVX2
  return hn::Combine(D(), hn::LoadU(b, p + 4 * stride), hn::LoadU(b, p));
#else
  return hn::LoadU(b, p);
#endif
}

HWY_INLINE void transpose_tile(const uint32_t* from, ptrdiff_t from_row, uint32_t* to, ptrdiff_t to_row) {
  const D d;
  const ptrdiff_t lanes = ptrdiff_t(hn::Lanes(d));
  for (ptrdiff_t j = 0; j < ptrdiff_t(kSide); j += 4) {
    for (ptrdiff_t l = 0; l < ptrdiff_t(kSide); l += lanes) {
      const uint32_t* const p = from + l * from_row + j;
      V rows[4];
      transpose_within_blocks(load_blocks(p, from_row), load_blocks(p + from_row, from_row),
                              load_blocks(p + 2 * from_row, from_row), load_blocks(p + 3 * from_row, from_row), rows);
      for (ptrdiff_t k = 0; k < 4; ++k) hn::StoreU(rows[k], d, to + (j + k) * to_row + l);
    }
  }
}

#endif

}  // namespace

void transpose_u32(const TransposeTile& t) {
  uint32_t* const to = static_cast<uint32_t*>(t.to);
  const uint32_t* const from = static_cast<const uint32_t*>(t.from);
  const size_t rows = t.rows & ~(kSide - 1), columns = t.columns & ~(kSide - 1);
  for (size_t l = 0; l < columns; l += kSide) {
    for (size_t j = 0; j < rows; j += kSide) {
      transpose_tile(from + ptrdiff_t(l) * t.from_row + ptrdiff_t(j), t.from_row,
                     to + ptrdiff_t(j) * t.to_row + ptrdiff_t(l), t.to_row);
    }
  }
  transpose_part<uint32_t>(t, rows, t.rows, 0, columns);
  transpose_part<uint32_t>(t, 0, t.rows, columns, t.columns);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

struct Block16 {
  uint64_t words[2];
};

/// Blocks of 16x16 keep the lines of both sides in the first-level cache.
template <typename T>
void transpose_blocks(const TransposeTile& t) {
  constexpr size_t kBlock = 16;
  for (size_t j = 0; j < t.rows; j += kBlock) {
    for (size_t l = 0; l < t.columns; l += kBlock) {
      transpose_part<T>(t, j, std::min(t.rows, j + kBlock), l, std::min(t.columns, l + kBlock));
    }
  }
}

}  // namespace

TransposeFn transpose_fn(size_t element_size) noexcept {
  switch (element_size) {
    case 1:
      return &transpose_blocks<uint8_t>;
    case 2:
      return &transpose_blocks<uint16_t>;
    case 4:
      return RETORT_SELECT(transpose_u32);
    case 8:
      return &transpose_blocks<uint64_t>;
    default:
      return &transpose_blocks<Block16>;
  }
}

}  // namespace retort::kernels
#endif
