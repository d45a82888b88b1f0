// The division of Winograd convolutions of codes into tasks, and the loop over them.
#include <cstring>

#include "kernels/conv/codes_winograd.h"

namespace retort::kernels {
namespace codes_detail {

namespace {

/// Planes start an odd number of cache lines apart, so that the stores of a tile use different sets of the cache.
template <typename T>
size_t spread_plane(size_t count) {
  constexpr size_t kLine = 64 / sizeof(T);
  return (ceil_div(count, kLine) | 1) * kLine;
}

}  // namespace

size_t CodesWinograd::v_plane() const { return spread_plane<int16_t>(block_tiles * in_c); }
size_t CodesWinograd::tap_bytes() const { return spread_plane<int8_t>(in_c * codes_panel_width()); }
size_t CodesWinograd::u_plane() const { return spread_plane<int16_t>(in_c * codes_panel_width()); }
size_t CodesWinograd::sums_plane() const { return spread_plane<int32_t>(sums_tiles * codes_panel_width()); }

CodesWinograd::CodesWinograd(const CodesConvShape& s) : in_c(s.in_c) {
  // Transforming the filters for each block costs as much as the products of 3 tiles, transforming the pixels for each
  // group as much as those of 5 columns, or of 2 to 8 if panels are wide. The filters of these stay in the second-level
  // cache, for some tiles at a time; the pixels need not. A worker transforms the pixels of a block once.
  const size_t width = codes_panel_width();
  const bool wide = width == 32;
  const size_t pixel_bytes = wide ? 1280 << 10 : 512 << 10;
  const size_t most_tiles = wide ? 112 : 48, most_sums = wide ? 28 : 48, least_columns = wide ? 32 : 64;
  constexpr size_t kLeastTiles = 12, kTasks = 8;
  tiles_h = ceil_div(s.out_h, kWinogradTile);
  tiles_w = ceil_div(s.out_w, kWinogradTile);
  tiles = checked_mul(s.batch, tiles_h * tiles_w, "tiles");
  const size_t most = std::clamp(pixel_bytes / (kWinogradPlanes * sizeof(int16_t) * in_c), kLeastTiles, most_tiles);
  const size_t most_groups = std::max<size_t>(s.out_c / least_columns, 1);
  const size_t least_blocks = wide ? std::min(ceil_div(kTasks, most_groups), tiles / most_sums) : 1;
  block_tiles = round_up(ceil_div(tiles, std::max(ceil_div(tiles, most), least_blocks)), 2);
  sums_tiles = std::min(block_tiles, most_sums);
  blocks = ceil_div(tiles, block_tiles);
  columns = round_up(ceil_div(s.out_c, std::min(most_groups, ceil_div(kTasks, blocks))), width);
  groups = ceil_div(s.out_c, columns);
}

WinogradMemory::WinogradMemory(const CodesWinograd& p, bool residual, void* base) {
  size_t end = 0;
  const auto take = [&](auto*& to, size_t count) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(reinterpret_cast<uintptr_t>(base) + end);
    end = round_up(checked_add(end, checked_mul(count, sizeof(*to), "tiles"), "tiles"), 64);
  };
  take(block, 1);
  take(outside, p.in_c);
  take(filters, 9 * p.tap_bytes());
  take(v, kWinogradPlanes * p.v_plane());
  take(u, kWinogradPlanes * p.u_plane());
  take(sums, kWinogradPlanes * p.sums_plane());
  take(codes, residual ? kWinogradTile * kWinogradTile * p.sums_tiles * codes_panel_width() : 0);
  bytes = round_up(end, 128);
}

bool suits_codes_winograd(const CodesConvShape& s) {
  constexpr size_t kLeastDepth = 32, kLeastColumns = 16;  // channels
  if (!has_facts(s) || s.filter_zero != 0 || s.input_is_nchw || s.kernel_h != 3 || s.kernel_w != 3) return false;
  if (s.stride_h != 1 || s.stride_w != 1 || s.dilation_h != 1 || s.dilation_w != 1) return false;
  if (s.in_c % 4 != 0 || s.in_c < kLeastDepth || s.out_c < kLeastColumns) return false;
  const CodesWinograd plan(s);
  if (corrects_pairs(s)) {
    constexpr size_t kTilePixels = 8, kFilterPixels = 30;
    return kTilePixels * plan.tiles + kFilterPixels <= s.out_pixels();
  }
  // Half cycles of a panel on Zen 4: the products of a tile and a pixel, with what is done for each, and the filters.
  const size_t panels = ceil_div(s.out_c, codes_panel_width());
  const size_t tile = 72 * s.in_c + 9 * s.in_c / panels + 1300, filters = 280 * s.in_c, pixel = 9 * s.in_c + 22;
  return plan.tiles * tile + plan.blocks * filters <= s.out_pixels() * pixel;
}

}  // namespace codes_detail
}  // namespace retort::kernels
