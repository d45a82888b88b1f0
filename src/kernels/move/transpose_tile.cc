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

/// The plain loops, over a part of a tile.
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
using Block = hn::FixedTag<uint32_t, 4>;

/// Four elements of each of the rows p, p + 4·stride, p + 8·stride, …: one row per 128-bit block.
HWY_INLINE V load_blocks(const uint32_t* p, [[maybe_unused]] ptrdiff_t stride) {
  const Block b;
#if HWY_TARGET <= HWY_AVX3
  const hn::FixedTag<uint32_t, 8> half;
  const auto low = hn::Combine(half, hn::LoadU(b, p + 4 * stride), hn::LoadU(b, p));
  const auto high = hn::Combine(half, hn::LoadU(b, p + 12 * stride), hn::LoadU(b, p + 8 * stride));
  return hn::Combine(D(), high, low);
#elif HWY_TARGET <= HWY_AVX2
  return hn::Combine(D(), hn::LoadU(b, p + 4 * stride), hn::LoadU(b, p));
#else
  return hn::LoadU(b, p);
#endif
}

/// Rows [j, j + 4) of the destination, `Lanes` columns from l on: 4x4 transposes within the blocks.
HWY_INLINE void transpose_4_rows(const uint32_t* from, ptrdiff_t from_row, uint32_t* to, ptrdiff_t to_row) {
  const D d;
  const hn::RepartitionToWide<D> dw;
  const V v0 = load_blocks(from, from_row), v1 = load_blocks(from + from_row, from_row);
  const V v2 = load_blocks(from + 2 * from_row, from_row), v3 = load_blocks(from + 3 * from_row, from_row);
  const auto a = hn::BitCast(dw, hn::InterleaveLower(d, v0, v1)), b = hn::BitCast(dw, hn::InterleaveLower(d, v2, v3));
  const auto e = hn::BitCast(dw, hn::InterleaveUpper(d, v0, v1)), f = hn::BitCast(dw, hn::InterleaveUpper(d, v2, v3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, a, b)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, a, b)), d, to + to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, e, f)), d, to + 2 * to_row);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, e, f)), d, to + 3 * to_row);
}

}  // namespace

void transpose_u32(const TransposeTile& t) {
  constexpr size_t kRows = 16;  // one cache line of the source at a time
  const size_t lanes = hn::Lanes(D());
  uint32_t* const to = static_cast<uint32_t*>(t.to);
  const uint32_t* const from = static_cast<const uint32_t*>(t.from);
  const size_t rows = t.rows & ~size_t(3), columns = t.columns & ~(lanes - 1);
  for (size_t j0 = 0; j0 < rows; j0 += kRows) {
    for (size_t l = 0; l < columns; l += lanes) {
      for (size_t j = j0; j < std::min(rows, j0 + kRows); j += 4) {
        transpose_4_rows(from + ptrdiff_t(l) * t.from_row + ptrdiff_t(j), t.from_row,
                         to + ptrdiff_t(j) * t.to_row + ptrdiff_t(l), t.to_row);
      }
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

/// Blocks of 16x16 keep the lines of both sides in the first cache level.
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
