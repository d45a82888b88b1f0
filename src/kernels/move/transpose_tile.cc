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
template <class Tag, class Vec = hn::Vec<Tag>>
HWY_INLINE void transpose_within_blocks(Tag d, Vec v0, Vec v1, Vec v2, Vec v3, Vec (&out)[4]) {
  const hn::RepartitionToWide<Tag> dw;
  const auto a = hn::BitCast(dw, hn::InterleaveLower(d, v0, v1)), b = hn::BitCast(dw, hn::InterleaveLower(d, v2, v3));
  const auto e = hn::BitCast(dw, hn::InterleaveUpper(d, v0, v1)), f = hn::BitCast(dw, hn::InterleaveUpper(d, v2, v3));
  out[0] = hn::BitCast(d, hn::InterleaveLower(dw, a, b));
  out[1] = hn::BitCast(d, hn::InterleaveUpper(dw, a, b));
  out[2] = hn::BitCast(d, hn::InterleaveLower(dw, e, f));
  out[3] = hn::BitCast(d, hn::InterleaveUpper(dw, e, f));
}

using Strip = hn::CappedTag<uint32_t, 8>;  // 256 bits at most
constexpr size_t kStrip = std::min<size_t>(hn::MaxLanes(D()), 8);

/// Loads four elements of each of the rows p, p + 4·stride, …: one row per 128-bit block.
HWY_INLINE hn::Vec<Strip> load_blocks(const uint32_t* p, [[maybe_unused]] ptrdiff_t stride) {
  const hn::FixedTag<uint32_t, 4> b;
#if HWY_TARGET <= HWY_AVX2
  return hn::Combine(Strip(), hn::LoadU(b, p + 4 * stride), hn::LoadU(b, p));
#else
  return hn::LoadU(b, p);
#endif
}

/// Four rows, kStrip columns.
HWY_INLINE void transpose_rows(const uint32_t* from, ptrdiff_t from_row, uint32_t* to, ptrdiff_t to_row) {
  hn::Vec<Strip> rows[4];
  transpose_within_blocks(Strip(), load_blocks(from, from_row), load_blocks(from + from_row, from_row),
                          load_blocks(from + 2 * from_row, from_row), load_blocks(from + 3 * from_row, from_row), rows);
  for (ptrdiff_t k = 0; k < 4; ++k) hn::StoreU(rows[k], Strip(), to + k * to_row);
}

/// kStrip rows, four columns.
HWY_INLINE void transpose_columns(const uint32_t* from, ptrdiff_t from_row, uint32_t* to, ptrdiff_t to_row) {
  const hn::FixedTag<uint32_t, 4> b;
  const Strip d;
  hn::Vec<Strip> rows[4];
  transpose_within_blocks(d, hn::LoadU(d, from), hn::LoadU(d, from + from_row), hn::LoadU(d, from + 2 * from_row),
                          hn::LoadU(d, from + 3 * from_row), rows);
  for (ptrdiff_t k = 0; k < 4; ++k) {
#if HWY_TARGET <= HWY_AVX2
    hn::StoreU(hn::LowerHalf(b, rows[k]), b, to + k * to_row);
    hn::StoreU(hn::UpperHalf(b, rows[k]), b, to + (k + 4) * to_row);
#else
    hn::StoreU(rows[k], b, to + k * to_row);
#endif
  }
}

#if HWY_TARGET <= HWY_AVX3

HWY_INLINE void transpose_tile(const uint32_t* from, ptrdiff_t from_row, uint32_t* to, ptrdiff_t to_row) {
  const D d;
  V t[4][4];  // t[g][k]: element k of every block, rows 4g … 4g + 3
  for (ptrdiff_t g = 0; g < 4; ++g) {
    const uint32_t* const p = from + 4 * g * from_row;
    transpose_within_blocks(d, hn::LoadU(d, p), hn::LoadU(d, p + from_row), hn::LoadU(d, p + 2 * from_row),
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

HWY_INLINE void transpose_tile(const uint32_t* from, ptrdiff_t from_row, uint32_t* to, ptrdiff_t to_row) {
  for (ptrdiff_t j = 0; j < ptrdiff_t(kSide); j += 4) {
    for (ptrdiff_t l = 0; l < ptrdiff_t(kSide); l += ptrdiff_t(kStrip))
      transpose_rows(from + l * from_row + j, from_row, to + j * to_row + l, to_row);
  }
}

#endif

/// Calls f(first) for strips of `width` that cover [begin, end); end >= width. The last strip ends at `end`, so that it
/// may move some elements again.
template <typename F>
HWY_INLINE void for_strips(size_t begin, size_t end, size_t width, const F& f) {
  for (size_t i = begin; i < end; i += width) f(std::min(i, end - width));
}

/// Moves two or three rows whose elements alternate in the source, such as the channels of an image.
void part_rows(const TransposeTile& t) {
  const D d;
  uint32_t* const to = static_cast<uint32_t*>(t.to);
  const uint32_t* const from = static_cast<const uint32_t*>(t.from);
  for_strips(0, t.columns, hn::Lanes(d), [&](size_t l) HWY_ATTR {
    hn::Vec<D> v[3];
    if (t.rows == 2) {
      hn::LoadInterleaved2(d, from + 2 * l, v[0], v[1]);
    } else {
      hn::LoadInterleaved3(d, from + 3 * l, v[0], v[1], v[2]);
      hn::StoreU(v[2], d, to + 2 * t.to_row + ptrdiff_t(l));
    }
    hn::StoreU(v[0], d, to + ptrdiff_t(l));
    hn::StoreU(v[1], d, to + t.to_row + ptrdiff_t(l));
  });
}

/// The inverse: two or three columns.
void join_columns(const TransposeTile& t) {
  const D d;
  uint32_t* const to = static_cast<uint32_t*>(t.to);
  const uint32_t* const from = static_cast<const uint32_t*>(t.from);
  for_strips(0, t.rows, hn::Lanes(d), [&](size_t j) HWY_ATTR {
    const auto a = hn::LoadU(d, from + ptrdiff_t(j)), b = hn::LoadU(d, from + t.from_row + ptrdiff_t(j));
    if (t.columns == 2) return hn::StoreInterleaved2(a, b, d, to + 2 * j);
    hn::StoreInterleaved3(a, b, hn::LoadU(d, from + 2 * t.from_row + ptrdiff_t(j)), d, to + 3 * j);
  });
}

/// Rows [first, t.rows), by vectors if there are enough rows and columns.
void transpose_last_rows(const TransposeTile& t, size_t first) {
  uint32_t* const to = static_cast<uint32_t*>(t.to);
  const uint32_t* const from = static_cast<const uint32_t*>(t.from);
  if (t.rows >= 4 && t.columns >= kStrip) {
    return for_strips(first, t.rows, 4, [&](size_t j) HWY_ATTR {
      for_strips(0, t.columns, kStrip, [&](size_t l) HWY_ATTR {
        transpose_rows(from + ptrdiff_t(l) * t.from_row + ptrdiff_t(j), t.from_row,
                       to + ptrdiff_t(j) * t.to_row + ptrdiff_t(l), t.to_row);
      });
    });
  }
  for (size_t j = first; j < t.rows; ++j) transpose_part<uint32_t>(t, j, j + 1, 0, t.columns);
}

/// Columns [first, t.columns) of the first `rows` rows, likewise.
void transpose_last_columns(const TransposeTile& t, size_t first, size_t rows) {
  uint32_t* const to = static_cast<uint32_t*>(t.to);
  const uint32_t* const from = static_cast<const uint32_t*>(t.from);
  if (t.columns < 4 || rows < kStrip) return transpose_part<uint32_t>(t, 0, rows, first, t.columns);
  for_strips(first, t.columns, 4, [&](size_t l) HWY_ATTR {
    for_strips(0, rows, kStrip, [&](size_t j) HWY_ATTR {
      transpose_columns(from + ptrdiff_t(l) * t.from_row + ptrdiff_t(j), t.from_row,
                        to + ptrdiff_t(j) * t.to_row + ptrdiff_t(l), t.to_row);
    });
  });
}

}  // namespace

void transpose_u32(const TransposeTile& t) {
  const size_t lanes = hn::Lanes(D());
  const auto few = [](size_t n) { return n == 2 || n == 3; };
  if (few(t.rows) && t.from_row == ptrdiff_t(t.rows) && t.columns >= lanes) return part_rows(t);
  if (few(t.columns) && t.to_row == ptrdiff_t(t.columns) && t.rows >= lanes) return join_columns(t);
  uint32_t* const to = static_cast<uint32_t*>(t.to);
  const uint32_t* const from = static_cast<const uint32_t*>(t.from);
  // Few columns are no tiles: their strips would write every row again.
  const size_t columns = t.columns & ~(kSide - 1), rows = columns > 0 ? t.rows & ~(kSide - 1) : t.rows;
  for (size_t l = 0; l < columns; l += kSide) {
    for (size_t j = 0; j < rows; j += kSide) {
      transpose_tile(from + ptrdiff_t(l) * t.from_row + ptrdiff_t(j), t.from_row,
                     to + ptrdiff_t(j) * t.to_row + ptrdiff_t(l), t.to_row);
    }
  }
  transpose_last_columns(t, columns, rows);
  transpose_last_rows(t, rows);
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
  constexpr size_t kBlock = 16, kFewRows = 4;
  if (t.rows <= kFewRows) {
    for (size_t j = 0; j < t.rows; ++j) transpose_part<T>(t, j, j + 1, 0, t.columns);
    return;
  }
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
