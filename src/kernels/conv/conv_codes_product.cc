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
#include "kernels/conv/codes_rows-inl.h"
#include "kernels/conv/conv_codes_parts.h"
#include "kernels/gemm/codes_amx.h"
#include "kernels/gemm/codes_tile.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using codes_detail::CodesProduct;
using codes_detail::WindowSums;
constexpr size_t kLine = 64;  ///< bytes of the cache
/// Rows whose sums are in registers: at 512 bits, 28 sums, two vectors of filters and one of pixels. Widths of images
/// are often multiples of 7.
constexpr size_t kMostRows = HWY_MAX_BYTES == 64 ? 14 : kRowsAtOnce;
constexpr size_t kMostSaturatedRows = 4;  ///< a product takes a register more, and pairs another one for ones
/// The rows of a tile with one vector of columns, for a panel that has no more.
constexpr size_t kNarrowRows = HWY_MAX_BYTES == 64 ? 12 : 8;

Columns columns_at(const CodesProduct& p, size_t n) {
  return {{load_scaling(p.scale + n, p.offset + n), load_scaling(p.scale + n + kSumLanes, p.offset + n + kSumLanes)},
          CodeRange(p.form.zero, p.form.is_signed),
          p.columns - n,
          p.form.wide};
}

struct Tile {
  const CodesProduct& p;
  const Columns& columns;
  const int8_t* filters;   ///< a panel
  const int32_t* begin;    ///< what products are added to: a bias for all rows, or sums of the first row of a line
  size_t begin_step;       ///< from a row to the next
  const int32_t* windows;  ///< null, or what is added to all sums of a row of the line
  size_t ahead;            // bytes from the filters to those that the tile requests for later
};

/// What the products of rows from i of a line on are added to.
template <size_t kRows, size_t kVectors>
HWY_INLINE void begin_sums(const Tile& t, size_t i, size_t begin_step, Sums (&s)[kRows][kVectors]) {
  const SumTag d;
  const int32_t* begin = t.begin + i * begin_step;
#pragma GCC unroll 14
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) s[r][v] = hn::LoadU(d, begin + r * begin_step + v * kSumLanes);
  }
  if (HWY_LIKELY(t.windows == nullptr)) return;
#pragma GCC unroll 14
  for (size_t r = 0; r < kRows; ++r) {
    const Sums window = hn::Set(d, t.windows[i + r]);
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) s[r][v] = hn::Add(s[r][v], window);
  }
}

/// Makes codes of the sums, or stores them all if columns are wide.
template <bool kPlain, size_t kRows, size_t kVectors>
HWY_INLINE void store_results(const Tile& t, const Sums (&s)[kRows][kVectors], uint8_t* y) {
  const size_t y_stride = t.p.y_stride;
  if (kPlain && HWY_UNLIKELY(t.columns.wide)) {
    alignas(64) int32_t sums[kRows * kPanel];
#pragma GCC unroll 14
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) hn::Store(s[r][v], SumTag(), sums + r * kPanel + v * kSumLanes);
    }
    return store_sums(t.columns, sums, kRows, y, y_stride);
  }
  if constexpr (kVectors == 1) {
#pragma GCC unroll 3
    for (size_t r = 0; r < kRows; r += 4)
      store_narrow<kPlain>(t.columns, {s[r][0], s[r + 1][0], s[r + 2][0], s[r + 3][0]}, y + r * y_stride, y_stride);
  } else {
#pragma GCC unroll 14
    for (size_t r = 0; r < kRows; r += 2) {
      const size_t next = std::min(r + 1, kRows - 1);
      store_rows<kPlain>(t.columns, s[r], s[next], y + r * y_stride, y + next * y_stride);
    }
  }
}

/// A tile from row i of a line on.
template <size_t kRows, CodesUnit kUnit, bool kPlain, size_t kVectors>
void multiply_tile(const Tile& t, size_t i, const uint8_t* a, uint8_t* y) noexcept {
  const SumTag d;
  const size_t stride = t.p.a.row_stride, begin_step = kUnit == CodesUnit::saturating ? t.begin_step : 0;
  a += i * stride;
  const uint8_t* rows[(kRows + 2) / 3];
#pragma GCC unroll 5
  for (size_t g = 0; g < (kRows + 2) / 3; ++g) rows[g] = a + g * 3 * stride;
  Sums s[kRows][kVectors];
  begin_sums(t, i, begin_step, s);
  const int8_t* w = t.filters;
  for (size_t part = t.p.a.parts; part > 0; --part) {
    for (size_t k = 0; k < t.p.a.depth; k += 4, w += 4 * kPanel) {
      __builtin_prefetch(w + t.ahead, 0, 2);  // into the second level
      const QuadA w0(load_quads(w)), w1(load_quads(w + (kVectors - 1) * HWY_MAX_BYTES));
#pragma GCC unroll 14
      for (size_t r = 0; r < kRows; ++r) {
        const QuadB x(hn::Set(d, load_quad(reinterpret_cast<const int8_t*>(rows[r / 3] + r % 3 * stride + k))));
        dot<kUnit>(w0, x, s[r][0]);
        if constexpr (kVectors > 1) dot<kUnit>(w1, x, s[r][kVectors - 1]);
      }
    }
#pragma GCC unroll 5
    for (size_t g = 0; g < (kRows + 2) / 3; ++g) rows[g] += t.p.a.part_stride;
  }
  store_results<kPlain>(t, s, y + i * t.p.y_stride);
}

using TileFn = void (*)(const Tile&, size_t, const uint8_t*, uint8_t*) noexcept;
template <CodesUnit kUnit, bool kPlain, size_t... kRows>
constexpr std::array<TileFn, sizeof...(kRows)> tiles(std::index_sequence<kRows...>) {
  return {&multiply_tile<kRows + 1, kUnit, kPlain, 2>...};
}

template <CodesUnit kUnit>
const TileFn* tiles_for(bool plain) {
  using Rows = std::make_index_sequence<kUnit == CodesUnit::saturating ? kMostSaturatedRows : kMostRows>;
  static constexpr std::array<TileFn, Rows::size()> forms[2] = {tiles<kUnit, false>(Rows()),
                                                                tiles<kUnit, true>(Rows())};
  return forms[plain].data();
}

/// The forms of a tile by its number of rows less 1.
const TileFn* choose_tiles([[maybe_unused]] CodesUnit unit, const Columns& columns) {
  const bool plain = columns.by[0].is_plain() && columns.by[1].is_plain();
  if (unit == CodesUnit::saturating) return tiles_for<CodesUnit::saturating>(plain);
  if constexpr (kTwoUnits) {
    if (unit == CodesUnit::pairs) return tiles_for<CodesUnit::pairs>(plain);
  }
  // At SSE4, nothing is left: exact sums are those of pairs, too.
  constexpr CodesUnit kExact = HWY_TARGET == HWY_SSE4 ? CodesUnit::saturating : CodesUnit::quads;
  return tiles_for<kExact>(plain);
}

/// The form of a tile for a panel with at most one vector of columns, if there is one.
TileFn choose_narrow(CodesUnit unit, const Columns& columns, size_t rows) {
  const bool suits = columns.count <= kSumLanes && rows >= kNarrowRows && columns.by[0].is_plain();
  if (!suits) return nullptr;
  if (unit == CodesUnit::saturating) return &multiply_tile<kNarrowRows, CodesUnit::saturating, true, 1>;
  if constexpr (kTwoUnits) {
    if (unit == CodesUnit::pairs) return &multiply_tile<kNarrowRows, CodesUnit::pairs, true, 1>;
  }
  constexpr CodesUnit kExact = HWY_TARGET == HWY_SSE4 ? CodesUnit::saturating : CodesUnit::quads;
  return &multiply_tile<kNarrowRows, kExact, true, 1>;
}

#if HWY_TARGET <= HWY_AVX3 && defined(__linux__)
using codes_detail::kTileRows;
using codes_detail::TileSigns;

/// The division of rows into AMX tiles of about equal numbers of rows; the last one of a line overlaps the one before,
/// since no row beyond the last may be read. For the same reason, parts are divided into equal steps.
struct TileGrid {
  size_t per_line, rows, count, step, steps;
  explicit TileGrid(const CodesProduct& p)
      : per_line(ceil_div(p.a.rows, kTileRows)),
        rows(ceil_div(p.a.rows, per_line)),
        count(p.a.lines * per_line),
        step(std::min(p.a.depth, codes_detail::kTileDepth)) {
    while (p.a.depth % step != 0) step -= 4;
    steps = p.a.parts * (p.a.depth / step);
  }
  /// With less depth than `kLeastDepth`, more time goes into storing sums than into products; a step takes about the
  /// time of `kLeastQuads` products of a row and two vectors of quads.
  bool is_faster() const {
    constexpr size_t kLeastQuads = 48, kLeastDepth = 64;
    return rows * (step / 4) >= kLeastQuads && steps * step >= kLeastDepth;
  }
};

/// The sums of a block of tiles that wait to be finished, row by row.
struct TileSums {
  alignas(64) int32_t sums[2 * kTileRows * kPanel];
  uint8_t* y[2];
  size_t left = 0, tile = 0, row = 0;  ///< pairs of rows, and where the next one is
};

/// Finishes up to `count` pairs of rows.
template <bool kPlain>
HWY_INLINE void finish_pairs(const Columns& c, size_t rows, size_t y_stride, size_t count, TileSums& t) {
  const SumTag d;
  count = std::min(count, t.left);
  t.left -= count;
  for (; count > 0; --count) {
    const size_t r = t.row, other = std::min(r + 1, rows - 1);
    const int32_t *s0 = t.sums + (t.tile * kTileRows + r) * kPanel, *s1 = s0 + (other - r) * kPanel;
    const Sums first[2] = {hn::Load(d, s0), hn::Load(d, s0 + kSumLanes)};
    const Sums second[2] = {hn::Load(d, s1), hn::Load(d, s1 + kSumLanes)};
    uint8_t* const y = t.y[t.tile];
    if (kPlain && HWY_UNLIKELY(c.wide))
      store_sums(c, s0, other - r + 1, y + r * y_stride, y_stride);
    else
      store_rows<kPlain>(c, first, second, y + r * y_stride, y + other * y_stride);
    t.row = r + 2;
    if (t.row < rows) continue;
    t.row = 0;
    ++t.tile;
  }
}

/// A panel of the result. While a block of two tiles is multiplied, the sums of the one before are finished, and the
/// next panel, which may come from far away, is requested.
template <bool kPlain>
void multiply_tiles(const CodesProduct& p, const TileGrid& grid, const Columns& columns, size_t n) noexcept {
  const size_t panel = kPanel * p.a.parts * p.a.depth, per_part = p.a.depth / grid.step;
  const int8_t* const filters = p.filters + n / kPanel * panel;
  constexpr size_t kMostAhead = 4;  ///< requests take time, and the processor itself requests what follows
  const size_t blocks = ceil_div(grid.count, size_t(2));
  const size_t lines_ahead = std::min(kMostAhead, ceil_div(panel / kLine, grid.steps * blocks));
  const int8_t* ahead = filters + panel;
  const size_t pairs = ceil_div(grid.rows, size_t(2)), at_once = ceil_div(2 * pairs, grid.steps);
  TileSums sums[2];
  const auto tile_at = [&](size_t t, uint8_t*& y) {
    const size_t line = t / grid.per_line, row = std::min(t % grid.per_line * grid.rows, p.a.rows - grid.rows);
    y = p.y + line * p.y_line + row * p.y_stride + n * p.form.bytes();
    return p.a.data + line * p.a.line_stride + row * p.a.row_stride;
  };
  size_t at = 0;
  for (size_t t = 0; t < grid.count; t += 2, at ^= 1) {
    const bool two = t + 1 < grid.count;
    TileSums &now = sums[at], &before = sums[at ^ 1];
    const uint8_t *a0 = tile_at(t, now.y[0]), *a1 = two ? tile_at(t + 1, now.y[1]) : nullptr;
    codes_detail::fill_tiles(p.bias + n);
    const int8_t* w = filters;
    for (size_t part = 0; part < p.a.parts; ++part) {
      for (size_t i = 0; i < per_part; ++i, w += grid.step * kPanel) {
        const size_t offset = part * p.a.part_stride + i * grid.step;
        codes_detail::multiply_tiles<TileSigns::unsigned_signed>(a0 + offset, two ? a1 + offset : nullptr,
                                                                 p.a.row_stride, w);
        for (size_t line = 0; line < lines_ahead; ++line, ahead += kLine) __builtin_prefetch(ahead, 0, 2);
        finish_pairs<kPlain>(columns, grid.rows, p.y_stride, at_once, before);
      }
    }
    codes_detail::store_tiles(now.sums, two);
    now.left = pairs * (two ? 2 : 1);
    now.tile = 0;
  }
  finish_pairs<kPlain>(columns, grid.rows, p.y_stride, sums[at ^ 1].left, sums[at ^ 1]);
}

/// Computes the product in AMX tiles, unless they are slower.
bool multiply_in_tiles(const CodesProduct& p) noexcept {
  const TileGrid grid(p);
  if (!grid.is_faster()) return false;
  codes_detail::begin_tiles(grid.rows, grid.step);
  for (size_t n = 0; n < p.columns; n += kPanel) {
    const Columns columns = columns_at(p, n);
    const bool plain = columns.by[0].is_plain() && columns.by[1].is_plain();
    plain ? multiply_tiles<true>(p, grid, columns, n) : multiply_tiles<false>(p, grid, columns, n);
  }
  codes_detail::end_tiles();
  return true;
}
#else
bool multiply_in_tiles(const CodesProduct&) noexcept { return false; }
#endif

/// The sum of n codes.
int32_t sum_bytes(const uint8_t* p, size_t n) {
  const ByteTag d;
  const hn::RepartitionToWide<hn::RepartitionToWide<hn::RepartitionToWide<ByteTag>>> d64;
  auto sum = hn::Zero(d64);
  size_t i = 0;
  for (; i + HWY_MAX_BYTES <= n; i += HWY_MAX_BYTES) sum = hn::Add(sum, hn::SumsOf8(hn::LoadU(d, p + i)));
  if (i < n) sum = hn::Add(sum, hn::SumsOf8(load_bytes(d, p + i, n - i)));
  return int32_t(hn::GetLane(hn::SumOfLanes(d64, sum)));
}

void sum_windows(const CodesProduct& p) {
  const WindowSums& w = p.windows;
  for (size_t i = 0; i < p.a.count(); ++i) {
    const uint8_t* part = p.a.row(i);
    int32_t sum = w.from * int32_t(w.parts * w.bytes);
    for (size_t n = 0; n < w.parts; ++n, part += w.part_stride) sum += sum_bytes(part, w.bytes);
    w.sums[i] = int32_t(uint32_t(sum) * uint32_t(w.factor));
  }
}

}  // namespace

void codes_product(const CodesProduct& p, CodesUnit unit) noexcept {
  if (p.windows.sums) {
    sum_windows(p);
  } else if (unit == CodesUnit::tiles && multiply_in_tiles(p)) {
    return;
  }
  // Tiles of about equal numbers of rows: a few rows would leave most of the latency uncovered.
  const size_t most = unit == CodesUnit::saturating ? kMostSaturatedRows : kMostRows;
  const size_t count = ceil_div(p.a.rows, most), even = ceil_div(p.a.rows, count), k = p.a.k();
  int32_t* sums = nullptr;
  if (p.excess.any(p.first_panel, p.first_panel + ceil_div(p.columns, kPanel))) {
    codes_detail::arrange_lines(p.a, p.arranged);
    sums = reinterpret_cast<int32_t*>(p.arranged +
                                      codes_detail::excess_blocks(p.a.count()) * codes_detail::kExcessRows * k);
  }
  for (size_t n = 0; n < p.columns; n += kPanel) {
    const Columns columns = columns_at(p, n);
    const TileFn* const tiles = choose_tiles(unit, columns);
    const TileFn narrow = choose_narrow(unit, columns, p.a.rows);
    Tile tile{p, columns, p.filters + n * k, p.bias + n, 0, p.windows.sums, kPanel * k};
    const size_t panel = p.first_panel + n / kPanel;
    if (p.excess.any(panel, panel + 1)) {
      codes_detail::multiply_excess(p.excess.chains(panel), p.excess.count(panel), p.bias + n, p.arranged, k,
                                    p.a.count(), sums);
      tile.begin = sums;
      tile.begin_step = kPanel;
    }
    for (size_t line = 0; line < p.a.lines; ++line, tile.begin += p.a.rows * tile.begin_step) {
      const uint8_t* a = p.a.data + line * p.a.line_stride;
      uint8_t* y = p.y + line * p.y_line + n * p.form.bytes();
      // The last rows are computed again if fewer remain.
      for (size_t i = 0; narrow && i < p.a.rows; i += kNarrowRows)
        narrow(tile, std::min(i, p.a.rows - kNarrowRows), a, y);
      for (size_t i = 0; !narrow && i < p.a.rows; i += even) {
        tiles[std::min(even, p.a.rows - i) - 1](tile, i, a, y);
        tile.ahead ^= kLine;  // two tiles request all of the next panel, which may come from far away
      }
      if (tile.windows) tile.windows += p.a.rows;
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
  if (product.corrects) unit = CodesUnit::saturating;
#endif
  RETORT_SELECT_CODES(codes_product)(product, unit);
}

}  // namespace retort::kernels::codes_detail
#endif
