// Winograd's method F(4x4, 3x3) for codes, exact: a tile of 4x4 sums from 6x6 pixels by 36 products of 16-bit numbers
// instead of 144 of codes. Without the instructions for four products of codes at once, it takes a third of the
// instructions of the plain sums, and no pair of weights has an excess (gemm/codes_excess.h). With those of AVX-512, it
// takes half of the products' instructions, besides the transforms.
//
// All numbers are integers: the filters are transformed by 24 times the usual matrix, a third of it for the point at
// infinity, so that those of both directions give 576 times the sums, modulo 2^32. This is divided by 9 exactly, and
// by 64 if the sums fit 26 bits, which FilterFacts tells.
#pragma once
#include "kernels/conv/conv_codes_parts.h"

namespace retort::kernels::codes_detail {

inline constexpr size_t kWinogradTile = 4, kWinogradSide = 6, kWinogradPlanes = kWinogradSide * kWinogradSide;

/// The division of the tiles of all images into blocks, and of the columns of the result into groups; a task is one of
/// each. It depends on the shape and the instruction level alone.
struct CodesWinograd {
  size_t tiles_h, tiles_w, tiles, block_tiles, blocks, columns, groups;
  size_t sums_tiles;  ///< of a block, that are multiplied by a panel at a time; even, as `block_tiles`
  explicit CodesWinograd(const CodesConvShape& shape);
  size_t v_plane() const;     ///< numbers of the transformed pixels [plane][tile][in_c] from a plane to the next
  size_t tap_bytes() const;   ///< of the filters of a panel, [tap][in_c / 4][codes_panel_width()][4], from tap to tap
  size_t u_plane() const;     ///< numbers of the transformed filters [plane][in_c / 2][codes_panel_width()][2]
  size_t sums_plane() const;  ///< sums of [plane][tile][codes_panel_width()] from a plane to the next
  size_t in_c;
};

/// Tiles [t0, t1), and the panel of columns from n on, with its filters.
struct WinogradPanel {
  size_t t0, t1, n;
  const int8_t* filters;
  size_t tap_bytes;  ///< from a tap to the next
};

/// Working memory of a worker. Blocks that follow one another may have the same tiles.
struct WinogradMemory {
  static constexpr size_t kNone = SIZE_MAX;
  size_t* block;     ///< that `v` is of
  uint8_t* outside;  ///< a pixel
  int8_t* filters;   ///< of a panel, with their excess
  int16_t *v, *u;
  int32_t* sums;
  uint8_t* codes;  ///< of `sums_tiles` tiles and a panel, which a residual is added to
  size_t bytes;    ///< of all
  WinogradMemory(const CodesWinograd& plan, bool residual, void* base);
};

/// Whether the method is supported for the shape, and faster than plain sums: a tile takes the time of eight to ten
/// pixels, and transforming the filters that of thirty.
bool suits_codes_winograd(const CodesConvShape& shape);
inline size_t codes_winograd_bytes(const CodesConvShape& shape, bool residual) {
  return WinogradMemory(CodesWinograd(shape), residual, nullptr).bytes;
}
void convolve_codes_winograd(const ConvCodesArgs& args, void* scratch, const Parallel& par);

}  // namespace retort::kernels::codes_detail
