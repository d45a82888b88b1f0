// Rows of pixels times panels of filters. A pixel's channels lie one after the other, so four of them are loaded into
// all lanes at once, and the lanes are filters.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/conv_codes_product.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/checked.h"
#include "kernels/conv/codes_finish-inl.h"
#include "kernels/conv/conv_codes_parts.h"
#include "kernels/gemm/codes_tile.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using codes_detail::CodesProduct;
constexpr size_t kPanel = 2 * kSumLanes;
constexpr size_t kLine = 64;  ///< bytes of the cache
/// Rows whose sums are in registers: at 512 bits, 28 sums, two vectors of filters and one of pixels. Widths of images
/// are often multiples of 7.
constexpr size_t kMostRows = HWY_MAX_BYTES == 64 ? 14 : kRowsAtOnce;
constexpr size_t kMostSaturatedRows = 4;  ///< a product takes a register more, and pairs another one for ones

/// The place, in units of four bytes, of four results of one of two rows in a vector that pack_bytes() packed from the
/// sums of both.
struct RowsOrder {
  alignas(64) int32_t at[kSumLanes];
  constexpr RowsOrder() : at() {
    constexpr size_t kBlocks = kSumLanes / 4;
    for (size_t i = 0; i < kSumLanes; ++i) {
      const size_t row = i / (2 * kBlocks), part = i % (2 * kBlocks);
      at[i] = int32_t(part % kBlocks * 4 + part / kBlocks + 2 * row);
    }
  }
};

/// Up to a panel of columns of the result.
struct Columns {
  Scaling by[2];
  CodeRange range;
  size_t count;
};

template <bool kPlain>
HWY_INLINE void store_rows(const Columns& c, const Sums (&first)[2], const Sums (&second)[2], uint8_t* y0,
                           uint8_t* y1) {
  static constexpr RowsOrder order;
  const auto pairs = [&](const Sums(&s)[2]) HWY_ATTR {
    return pack_pairs(rounded<kPlain>(s[0], c.by[0]), rounded<kPlain>(s[1], c.by[1]), c.range);
  };
  const Bytes packed = pack_bytes(pairs(first), pairs(second), c.range);
  const hn::Half<ByteTag> half;
  const ByteTag bytes;
  const Bytes sorted = kSumLanes == 4
                           ? packed
                           : hn::BitCast(bytes, hn::TableLookupLanes(hn::BitCast(SumTag(), packed),
                                                                     hn::SetTableIndices(SumTag(), order.at)));
  if (HWY_LIKELY(c.count >= kPanel)) {
    hn::StoreU(hn::LowerHalf(half, sorted), half, y0);
    hn::StoreU(hn::UpperHalf(half, sorted), half, y1);
  } else {
    store_bytes(half, hn::LowerHalf(half, sorted), y0, c.count);
    store_bytes(half, hn::UpperHalf(half, sorted), y1, c.count);
  }
}

struct Tile {
  const CodesProduct& p;
  const Columns& columns;
  const int8_t* filters;  ///< a panel
  const int32_t* begin;   ///< what products are added to: a bias for all rows, or sums of the first row of a line
  size_t begin_step;      ///< from a row to the next
  size_t ahead;           // bytes from the filters to those that the tile requests for later
};

/// A tile from row i of a line on.
template <size_t kRows, CodesUnit kUnit, bool kFlip, bool kPlain>
void multiply_tile(const Tile& t, size_t i, const uint8_t* a, uint8_t* y) noexcept {
  const SumTag d;
  const size_t stride = t.p.a.row_stride, y_stride = t.p.y_stride,
               begin_step = kUnit == CodesUnit::saturating ? t.begin_step : 0;
  const int32_t* begin = t.begin + i * begin_step;
  a += i * stride;
  y += i * y_stride;
  const uint8_t* rows[(kRows + 2) / 3];
#pragma GCC unroll 5
  for (size_t g = 0; g < (kRows + 2) / 3; ++g) rows[g] = a + g * 3 * stride;
  const Sums flip = hn::Set(d, int32_t(0x01010101u * t.p.a.flip));
  Sums s[kRows][2];
#pragma GCC unroll 14
  for (size_t r = 0; r < kRows; ++r) {
    s[r][0] = hn::LoadU(d, begin + r * begin_step);
    s[r][1] = hn::LoadU(d, begin + r * begin_step + kSumLanes);
  }
  const int8_t* w = t.filters;
  for (size_t part = t.p.a.parts; part > 0; --part) {
    for (size_t k = 0; k < t.p.a.depth; k += 4, w += 4 * kPanel) {
      __builtin_prefetch(w + t.ahead, 0, 2);  // into the second level
      const QuadA w0(load_quads(w)), w1(load_quads(w + HWY_MAX_BYTES));
#pragma GCC unroll 14
      for (size_t r = 0; r < kRows; ++r) {
        Sums pixel = hn::Set(d, load_quad(reinterpret_cast<const int8_t*>(rows[r / 3] + r % 3 * stride + k)));
        if constexpr (kFlip) pixel = hn::Xor(pixel, flip);
        const QuadB x(pixel);
        dot<kUnit>(w0, x, s[r][0]);
        dot<kUnit>(w1, x, s[r][1]);
      }
    }
#pragma GCC unroll 5
    for (size_t g = 0; g < (kRows + 2) / 3; ++g) rows[g] += t.p.a.part_stride;
  }
#pragma GCC unroll 14
  for (size_t r = 0; r < kRows; r += 2) {
    const size_t next = std::min(r + 1, kRows - 1);
    store_rows<kPlain>(t.columns, s[r], s[next], y + r * y_stride, y + next * y_stride);
  }
}

using TileFn = void (*)(const Tile&, size_t, const uint8_t*, uint8_t*) noexcept;
template <CodesUnit kUnit, bool kFlip, bool kPlain, size_t... kRows>
constexpr std::array<TileFn, sizeof...(kRows)> tiles(std::index_sequence<kRows...>) {
  return {&multiply_tile<kRows + 1, kUnit, kFlip, kPlain>...};
}

template <CodesUnit kUnit>
const TileFn* tiles_for(bool flip, bool plain) {
  using Rows = std::make_index_sequence<kUnit == CodesUnit::saturating ? kMostSaturatedRows : kMostRows>;
  static constexpr std::array<TileFn, Rows::size()> forms[2][2] = {
      {tiles<kUnit, false, false>(Rows()), tiles<kUnit, false, true>(Rows())},
      {tiles<kUnit, true, false>(Rows()), tiles<kUnit, true, true>(Rows())}};
  return forms[flip][plain].data();
}

/// The forms of a tile by its number of rows less 1.
const TileFn* choose_tiles([[maybe_unused]] CodesUnit unit, bool flip, const Columns& columns) {
  const bool plain = columns.by[0].is_plain() && columns.by[1].is_plain();
  if (unit == CodesUnit::saturating) return tiles_for<CodesUnit::saturating>(flip, plain);
  if constexpr (HWY_ARCH_ARM_A64) {
    if (unit == CodesUnit::pairs) return tiles_for<CodesUnit::pairs>(flip, plain);
  }
  // At SSE4, nothing is left: exact sums are those of pairs, too.
  return tiles_for < HWY_TARGET == HWY_SSE4 ? CodesUnit::saturating : CodesUnit::quads > (flip, plain);
}

}  // namespace

void codes_product(const CodesProduct& p, CodesUnit unit) noexcept {
  // Tiles of about equal numbers of rows: a few rows would leave most of the latency uncovered.
  const size_t most = unit == CodesUnit::saturating ? kMostSaturatedRows : kMostRows, lines_rows = p.a.lines * p.a.rows;
  const size_t count = ceil_div(p.a.rows, most), even = ceil_div(p.a.rows, count), k = p.a.k();
  const size_t blocks = codes_detail::excess_blocks(lines_rows), block_bytes = codes_detail::kExcessRows * k;
  int32_t* sums = nullptr;
  if (p.excess.any(p.first_panel, p.first_panel + ceil_div(p.columns, kPanel))) {
    codes_detail::transpose_lines(p.a, p.transposed);
    sums = reinterpret_cast<int32_t*>(p.transposed + blocks * block_bytes);
  }
  for (size_t n = 0; n < p.columns; n += kPanel) {
    const Columns columns{
        {load_scaling(p.scale + n, p.offset + n), load_scaling(p.scale + n + kSumLanes, p.offset + n + kSumLanes)},
        CodeRange(p.form.result_zero, p.form.result_signed),
        p.columns - n};
    const TileFn* const tiles = choose_tiles(unit, p.a.flip != 0, columns);
    Tile tile{p, columns, p.filters + n * k, p.bias + n, 0, kPanel * k};
    const size_t panel = p.first_panel + n / kPanel;
    if (p.excess.any(panel, panel + 1)) {
      codes_detail::multiply_excess(p.excess.chains(panel), p.excess.count(panel), p.bias + n, p.transposed, k, blocks,
                                    sums);
      tile.begin = sums;
      tile.begin_step = kPanel;
    }
    for (size_t line = 0; line < p.a.lines; ++line, tile.begin += p.a.rows * tile.begin_step) {
      const uint8_t* a = p.a.data + line * p.a.line_stride;
      uint8_t* y = p.y + line * p.y_line + n;
      for (size_t i = 0; i < p.a.rows; i += even) {
        tiles[std::min(even, p.a.rows - i) - 1](tile, i, a, y);
        tile.ahead ^= kLine;  // two tiles request all of the next panel, which may come from far away
      }
    }
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::codes_detail {

void multiply_codes(const CodesProduct& product) noexcept {
  CodesUnit unit = product.saturates ? CodesUnit::saturating : codes_unit();
#if defined(__x86_64__)
  if (unit == CodesUnit::pairs) unit = CodesUnit::saturating;  // with the excess
#endif
  RETORT_SELECT_CODES(codes_product)(product, unit);
}

}  // namespace retort::kernels::codes_detail
#endif
