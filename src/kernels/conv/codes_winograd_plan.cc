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
size_t CodesWinograd::sums_plane() const { return spread_plane<int32_t>(block_tiles * codes_panel_width()); }

CodesWinograd::CodesWinograd(const CodesConvShape& s) : in_c(s.in_c) {
  // Transforming the filters for each block costs as much as the products of 3 tiles, transforming the pixels for each
  // group as much as those of 5 columns.
  constexpr size_t kMostTiles = 48, kLeastTiles = 12, kPixelBytes = 512 << 10, kTasks = 8, kLeastColumns = 64;
  tiles_h = ceil_div(s.out_h, kWinogradTile);
  tiles_w = ceil_div(s.out_w, kWinogradTile);
  tiles = checked_mul(s.batch, tiles_h * tiles_w, "tiles");
  const size_t most = std::clamp(kPixelBytes / (kWinogradPlanes * sizeof(int16_t) * in_c), kLeastTiles, kMostTiles);
  block_tiles = ceil_div(tiles, ceil_div(tiles, most));
  blocks = ceil_div(tiles, block_tiles);
  const size_t width = codes_panel_width(), most_groups = std::max<size_t>(s.out_c / kLeastColumns, 1);
  columns = round_up(ceil_div(s.out_c, std::min(most_groups, ceil_div(kTasks, blocks))), width);
  groups = ceil_div(s.out_c, columns);
}

WinogradMemory::WinogradMemory(const CodesWinograd& p, void* base) {
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
  bytes = round_up(end, 128);
}

bool suits_codes_winograd(const CodesConvShape& s) {
  constexpr size_t kVector = 16, kLeastDepth = 32;  // channels
  if (!corrects_pairs(s) || s.filter_zero != 0 || s.input_is_nchw || s.kernel_h != 3 || s.kernel_w != 3) return false;
  if (s.stride_h != 1 || s.stride_w != 1 || s.dilation_h != 1 || s.dilation_w != 1) return false;
  if (s.in_c % kVector != 0 || s.in_c < kLeastDepth || s.out_c < kVector) return false;
  constexpr size_t kTilePixels = 8, kFilterPixels = 30;
  const size_t tiles = s.batch * ceil_div(s.out_h, kWinogradTile) * ceil_div(s.out_w, kWinogradTile);
  return kTilePixels * tiles + kFilterPixels <= s.out_pixels();
}

}  // namespace codes_detail
}  // namespace retort::kernels
