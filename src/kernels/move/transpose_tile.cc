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

/// 256 bits at most: twice as long vectors gain nothing where each row fills only a part of them.
template <typename T>
using Strip = hn::CappedTag<T, 32 / sizeof(T)>;
template <typename T>
using V = hn::Vec<Strip<T>>;
template <typename T>
constexpr size_t kStrip = std::min(hn::MaxLanes(hn::ScalableTag<T>()), 32 / sizeof(T));
template <typename T>
constexpr size_t kBlock = 16 / sizeof(T);  // elements of a 128-bit block
/// Tiles with a side of a cache line: whole lines on both sides, read and written once.
template <typename T>
constexpr size_t kSide = 64 / sizeof(T);

/// Transposes within the 128-bit blocks of as many vectors as a block has elements: block b of result k holds element k
/// of block b of each. A perfect shuffle of all elements moves the highest bit of the vector's number to the lowest of
/// the element's, and the highest of the element's to the lowest of the vector's; these bits have changed places when
/// each has been moved.
template <class Tag, size_t kCount>
HWY_INLINE void transpose_within_blocks(Tag d, hn::Vec<Tag> (&v)[kCount]) {
  constexpr size_t kHalf = kCount / 2;
#pragma GCC unroll 4
  for (size_t moved = 1; moved < kCount; moved *= 2) {
    hn::Vec<Tag> low[kHalf], high[kHalf];
#pragma GCC unroll 8
    for (size_t i = 0; i < kHalf; ++i) {
      low[i] = hn::InterleaveLower(d, v[i], v[i + kHalf]);
      high[i] = hn::InterleaveUpper(d, v[i], v[i + kHalf]);
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < kHalf; ++i) v[2 * i] = low[i], v[2 * i + 1] = high[i];
  }
}

/// Loads a block of each of the rows p and, if a vector has two blocks, p + kBlock · stride.
template <typename T>
HWY_INLINE V<T> load_blocks(const T* p, [[maybe_unused]] ptrdiff_t stride) {
  const hn::FixedTag<T, kBlock<T>> b;
#if HWY_TARGET <= HWY_AVX2
  return hn::Combine(Strip<T>(), hn::LoadU(b, p + ptrdiff_t(kBlock<T>) * stride), hn::LoadU(b, p));
#else
  return hn::LoadU(b, p);
#endif
}

/// kBlock rows, kStrip columns.
template <typename T>
HWY_NOINLINE void transpose_rows(const T* from, ptrdiff_t from_row, T* to, ptrdiff_t to_row) {
  V<T> v[kBlock<T>];
#pragma GCC unroll 16
  for (size_t k = 0; k < kBlock<T>; ++k) v[k] = load_blocks(from + ptrdiff_t(k) * from_row, from_row);
  transpose_within_blocks(Strip<T>(), v);
#pragma GCC unroll 16
  for (size_t k = 0; k < kBlock<T>; ++k) hn::StoreU(v[k], Strip<T>(), to + ptrdiff_t(k) * to_row);
}

/// kStrip rows, kBlock columns.
template <typename T>
HWY_NOINLINE void transpose_columns(const T* from, ptrdiff_t from_row, T* to, ptrdiff_t to_row) {
  const hn::FixedTag<T, kBlock<T>> b;
  V<T> v[kBlock<T>];
#pragma GCC unroll 16
  for (size_t k = 0; k < kBlock<T>; ++k) v[k] = hn::LoadU(Strip<T>(), from + ptrdiff_t(k) * from_row);
  transpose_within_blocks(Strip<T>(), v);
#pragma GCC unroll 16
  for (size_t k = 0; k < kBlock<T>; ++k) {
#if HWY_TARGET <= HWY_AVX2
    hn::StoreU(hn::LowerHalf(b, v[k]), b, to + ptrdiff_t(k) * to_row);
    hn::StoreU(hn::UpperHalf(b, v[k]), b, to + ptrdiff_t(k + kBlock<T>) * to_row);
#else
    hn::StoreU(v[k], b, to + ptrdiff_t(k) * to_row);
#endif
  }
}

template <typename T>
HWY_INLINE void transpose_tile(const T* from, ptrdiff_t from_row, T* to, ptrdiff_t to_row) {
  for (ptrdiff_t j = 0; j < ptrdiff_t(kSide<T>); j += ptrdiff_t(kBlock<T>)) {
    for (ptrdiff_t l = 0; l < ptrdiff_t(kSide<T>); l += ptrdiff_t(kStrip<T>))
      transpose_rows(from + l * from_row + j, from_row, to + j * to_row + l, to_row);
  }
}

#if HWY_TARGET <= HWY_AVX3

HWY_INLINE void transpose_tile(const uint32_t* from, ptrdiff_t from_row, uint32_t* to, ptrdiff_t to_row) {
  using D = hn::ScalableTag<uint32_t>;
  const D d;
  hn::Vec<D> t[4][4];  // t[g][k]: element k of every block, rows 4g … 4g + 3
  for (ptrdiff_t g = 0; g < 4; ++g) {
    for (ptrdiff_t k = 0; k < 4; ++k) t[g][k] = hn::LoadU(d, from + (4 * g + k) * from_row);
    transpose_within_blocks(d, t[g]);
  }
  for (ptrdiff_t k = 0; k < 4; ++k) {  // the same with blocks as elements
    const hn::Vec<D> a0 = t[0][k], a1 = t[1][k], a2 = t[2][k], a3 = t[3][k];
    const hn::Vec<D> even_low = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(a1), a0);
    const hn::Vec<D> odd_low = hn::OddEvenBlocks(a1, hn::SwapAdjacentBlocks(a0));
    const hn::Vec<D> even_high = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(a3), a2);
    const hn::Vec<D> odd_high = hn::OddEvenBlocks(a3, hn::SwapAdjacentBlocks(a2));
    uint32_t* const p = to + k * to_row;
    hn::StoreU(hn::ConcatLowerLower(d, even_high, even_low), d, p);
    hn::StoreU(hn::ConcatLowerLower(d, odd_high, odd_low), d, p + 4 * to_row);
    hn::StoreU(hn::ConcatUpperUpper(d, even_high, even_low), d, p + 8 * to_row);
    hn::StoreU(hn::ConcatUpperUpper(d, odd_high, odd_low), d, p + 12 * to_row);
  }
}

#endif

/// The tile with typed addresses.
template <typename T>
struct Typed {
  const TransposeTile& t;
  const T* from(size_t row, size_t column) const {
    return static_cast<const T*>(t.from) + ptrdiff_t(column) * t.from_row + ptrdiff_t(row);
  }
  T* to(size_t row, size_t column) const {
    return static_cast<T*>(t.to) + ptrdiff_t(row) * t.to_row + ptrdiff_t(column);
  }
};

/// Calls f(first) for strips of `width` that cover [begin, end); end >= width. The last strip ends at `end`, so that it
/// may move some elements again.
template <typename F>
HWY_INLINE void for_strips(size_t begin, size_t end, size_t width, const F& f) {
  for (size_t i = begin; i < end; i += width) f(std::min(i, end - width));
}

/// Vectors of alternating elements: small ones are rearranged by tables, which are costly across 128-bit blocks.
template <typename T>
using Alternating = hn::CappedTag<T, sizeof(T) < 4 ? kBlock<T> : kSide<T>>;

/// Moves two or three rows whose elements alternate in the source, such as the channels of an image.
template <typename T>
void part_rows(const TransposeTile& tile) {
  const Alternating<T> d;
  const Typed<T> t{tile};
  for_strips(0, tile.columns, hn::Lanes(d), [&](size_t l) HWY_ATTR {
    const T* const from = t.from(0, l);
    hn::Vec<decltype(d)> a, b, c;
    if (tile.rows == 2) {
      hn::LoadInterleaved2(d, from, a, b);
    } else {
      hn::LoadInterleaved3(d, from, a, b, c);
      hn::StoreU(c, d, t.to(2, l));
    }
    hn::StoreU(a, d, t.to(0, l));
    hn::StoreU(b, d, t.to(1, l));
  });
}

/// The inverse: two or three columns.
template <typename T>
void join_columns(const TransposeTile& tile) {
  const Alternating<T> d;
  const Typed<T> t{tile};
  for_strips(0, tile.rows, hn::Lanes(d), [&](size_t j) HWY_ATTR {
    const auto a = hn::LoadU(d, t.from(j, 0)), b = hn::LoadU(d, t.from(j, 1));
    if (tile.columns == 2) return hn::StoreInterleaved2(a, b, d, t.to(j, 0));
    hn::StoreInterleaved3(a, b, hn::LoadU(d, t.from(j, 2)), d, t.to(j, 0));
  });
}

/// Rows [first, rows), by vectors if there are enough rows and columns.
template <typename T>
void transpose_last_rows(const TransposeTile& tile, size_t first) {
  const Typed<T> t{tile};
  if (tile.rows >= kBlock<T> && tile.columns >= kStrip<T>) {
    return for_strips(first, tile.rows, kBlock<T>, [&](size_t j) HWY_ATTR {
      for_strips(0, tile.columns, kStrip<T>,
                 [&](size_t l) HWY_ATTR { transpose_rows(t.from(j, l), tile.from_row, t.to(j, l), tile.to_row); });
    });
  }
  for (size_t j = first; j < tile.rows; ++j) transpose_part<T>(tile, j, j + 1, 0, tile.columns);
}

/// Columns [first, columns) of the first `rows` rows, likewise.
template <typename T>
void transpose_last_columns(const TransposeTile& tile, size_t first, size_t rows) {
  const Typed<T> t{tile};
  if (tile.columns < kBlock<T> || rows < kStrip<T>) return transpose_part<T>(tile, 0, rows, first, tile.columns);
  for_strips(first, tile.columns, kBlock<T>, [&](size_t l) HWY_ATTR {
    for_strips(0, rows, kStrip<T>,
               [&](size_t j) HWY_ATTR { transpose_columns(t.from(j, l), tile.from_row, t.to(j, l), tile.to_row); });
  });
}

template <typename T>
HWY_INLINE void transpose(const TransposeTile& t) {
  [[maybe_unused]] const size_t lanes = hn::Lanes(Alternating<T>());
  const auto few = [](size_t n) { return n == 2 || n == 3; };
  if constexpr (sizeof(T) < 8) {  // two of 8 bytes fill a block of 128 bits
    if (few(t.rows) && t.from_row == ptrdiff_t(t.rows) && t.columns >= lanes) return part_rows<T>(t);
    if (few(t.columns) && t.to_row == ptrdiff_t(t.columns) && t.rows >= lanes) return join_columns<T>(t);
  }
  // Few columns are no tiles: their strips would write every row again.
  const size_t columns = t.columns & ~(kSide<T> - 1), rows = columns > 0 ? t.rows & ~(kSide<T> - 1) : t.rows;
  const Typed<T> typed{t};
  for (size_t l = 0; l < columns; l += kSide<T>) {
    for (size_t j = 0; j < rows; j += kSide<T>) transpose_tile(typed.from(j, l), t.from_row, typed.to(j, l), t.to_row);
  }
  transpose_last_columns<T>(t, columns, rows);
  transpose_last_rows<T>(t, rows);
}

}  // namespace

void transpose_u8(const TransposeTile& t) { transpose<uint8_t>(t); }
void transpose_u16(const TransposeTile& t) { transpose<uint16_t>(t); }
void transpose_u32(const TransposeTile& t) { transpose<uint32_t>(t); }
void transpose_u64(const TransposeTile& t) { transpose<uint64_t>(t); }

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

struct Block16 {
  uint64_t words[2];
};

/// Blocks of 16x16 keep the lines of both sides in the first-level cache.
void transpose_blocks(const TransposeTile& t) {
  constexpr size_t kBlock = 16;
  for (size_t j = 0; j < t.rows; j += kBlock) {
    for (size_t l = 0; l < t.columns; l += kBlock)
      transpose_part<Block16>(t, j, std::min(t.rows, j + kBlock), l, std::min(t.columns, l + kBlock));
  }
}

}  // namespace

TransposeFn transpose_fn(size_t element_size) noexcept {
  switch (element_size) {
    case 1:
      return RETORT_SELECT(transpose_u8);
    case 2:
      return RETORT_SELECT(transpose_u16);
    case 4:
      return RETORT_SELECT(transpose_u32);
    case 8:
      return RETORT_SELECT(transpose_u64);
    default:
      return &transpose_blocks;
  }
}

}  // namespace retort::kernels
#endif
