// Shared by the plan, the loop over blocks and the transforms of Winograd convolutions. Each worker has the transformed
// input V [plane][tile][in_c] of one block, transformed filters U, the products M [plane][tile][columns], and in_c
// zeros for the padding.
#pragma once
#include "base/checked.h"
#include "kernels/conv/conv_plan.h"

namespace retort::kernels::conv_detail {

/// The tiles of outputs. Outputs of a tile are `dilation` apart: every dilation_h-th row and dilation_w-th column of an
/// image is an image of its own, a phase.
struct WinogradTiles {
  size_t edge = 0;       ///< outputs along one side of a tile
  size_t h = 0, w = 0;   ///< number of tiles down and across a phase of an image; along a line
  size_t line_rows = 0;  ///< rows of V for a line: its tiles, and those that groups of taps read after the last
  size_t all = 0;        ///< rows of V for the whole batch
};

/// The division of a line's taps into groups of kLineTile taps; the last group has at most `of_group`.
struct LineTaps {
  size_t of_group = 0, groups = 1;
};

/// Floats from one row, and from one plane, of V or M to the next.
struct WinogradMatrix {
  size_t stride = 0, plane = 0;
};

/// A task is a block of output tiles times a group of output channels. The planes are taken in parts. For images, a
/// part has two rows of a tile (for F(4x4) rows 1 and 2, then 3 and 4, each the points p and -p, then 0 and 5; for
/// F(2x2) rows 1 and 2, then 0 and 3). For lines, it has the two points of a pair, and at last 0 and infinity or
/// infinity alone. U is [plane][panel][depth][panel width] of a group if it is kept from one block to the next,
/// otherwise of one part and `chunk` columns. For winograd2_packed, it is [part][plane][panel][depth][panel width] of all
/// filters, and packed.
struct WinogradPlan {
  WinogradTiles tiles;
  size_t planes = 0, parts = 0, part_planes = 0;
  LineTaps taps;     ///< of images: none, in one group
  size_t depth = 0;  ///< length of the products' sums
  size_t block_tiles = 0, blocks = 0;
  size_t columns = 0, column_groups = 0, chunk = 0;
  WinogradMatrix v, m;
  size_t u_plane = 0;
  bool keeps_filters = false, packs_filters = false;
  /// V and U are pairs of bfloat16 numbers; `depth` and the strides of V and U count pairs. Only without AMX, which reads
  /// whole lines of a row: what follows `depth` is not zero.
  bool rounds = false;
  size_t worker_bytes = 0;
};
WinogradPlan plan_winograd(const ConvShape& shape, ConvAlgorithm algorithm);

/// The range of one task: tiles [t0, t1) of the batch, output channels [n0, n1).
struct WinogradBlock {
  size_t t0, t1, n0, n1;
};
/// A part of the planes of filters [n0, n1); n0 is a multiple of gemm_panel_width().
struct WinogradFilters {
  size_t part, n0, n1;
};

/// The transforms at the current instruction level. `zeros` has in_c zeros; `u` is panel n0 of the first plane of the
/// part, made from the packed filters of ConvAlgorithm::rows.
struct WinogradTransforms {
  void (*input)(const ConvArgs&, const WinogradPlan&, const WinogradBlock&, const float* zeros, float* v) noexcept;
  void (*filters)(const ConvArgs&, const WinogradPlan&, const WinogradFilters&, float* u) noexcept;
  void (*output)(const ConvArgs&, const WinogradPlan&, const WinogradBlock&, const float* m) noexcept;
};
/// Floats from one plane of the packed filters of winograd2_packed to the next: an odd number of cache lines, since
/// filters of all planes are read side by side for winograd4_packed.
inline size_t packed_plane(size_t depth, size_t out_c) {
  return (ceil_div(depth * round_up(out_c, gemm_panel_width()), size_t(16)) | 1) * 16;
}
/// Packs filters for winograd2_packed, and for bf16_winograd.
void pack_winograd(const ConvShape& shape, const float* weights, float* packed, const Parallel& run) noexcept;
void pack_bf16_winograd(const ConvShape& shape, const float* weights, float* packed, const Parallel& run) noexcept;
WinogradTransforms image_transforms();
WinogradTransforms line_transforms();

/// Row t of V: the image of the batch, the first of its outputs, and the number of outputs from there to the bottom and
/// to the right of its phase: none if the phase has fewer tiles than others.
struct ImageTile {
  size_t image, y, x, rows, columns;
};
ImageTile image_tile(const ConvShape& shape, const WinogradPlan& plan, size_t t);

inline constexpr size_t kLineTile = 4;  ///< outputs of a tile of a line
LineTaps line_taps(size_t kernel);
/// Row t of V: the line of the batch, and the first of its outputs (which are `dilation` apart). `is_shared`: it has no
/// outputs of its own.
struct LineTile {
  size_t line, x;
  bool is_shared;
};
LineTile line_tile(const ConvShape& shape, const WinogradPlan& plan, size_t t);

}  // namespace retort::kernels::conv_detail
