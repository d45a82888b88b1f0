// How a convolution is cut into tasks and how scratch is laid out; shared by conv_scratch_bytes and the algorithms.
#pragma once
#include "kernels/conv/conv.h"

namespace retort::kernels::conv_detail {

/// Half of a usual L2 cache (1 MiB): what one task keeps there besides the weights that stream through.
inline constexpr size_t kGatherBytes = 512 << 10;
/// Tasks wanted where the work allows it, so that a few threads finish together.
inline constexpr size_t kWantedTasks = 16;
/// Work below which a task is not cut further: about 2 µs of one core.
inline constexpr size_t kTaskMacs = 128 << 10;

/// Tasks for so many multiply-adds.
size_t wanted_tasks(size_t macs);

/// Rows of a matrix that is read a few rows at a time: a stride of a multiple of 1 KiB would put them all into a few
/// sets of the first-level cache, so such rows are kept one line further apart.
size_t spread_stride(size_t floats);

/// Cuts `columns` into equal groups of whole GEMM panels, at most `wanted` of them.
size_t group_columns(size_t columns, size_t wanted);

/// Task = (group, block of output pixels, group of output channels). A worker remembers the block that it gathered
/// last.
struct RowsPlan {
  size_t group_in = 0, group_out = 0;  // channels of one group
  size_t k = 0;                        // length of a patch
  size_t row_stride = 0;
  size_t block_pixels = 0, blocks = 0;
  size_t columns = 0, column_groups = 0;
  bool direct = false;  // patches are pixels as they lie in the input: nothing is gathered
  size_t worker_bytes = 0;
};
RowsPlan plan_rows(const ConvShape& shape);

/// How an image of few channels is convolved: lines of padded input, each giving runs of `run` inputs to a pixel, the
/// runs of neighbouring pixels `step` floats apart. Packed weights are those of conv_rows. Task = some rows of the
/// output.
struct LinesPlan {
  size_t lines = 0, run = 0, step = 0;
  size_t line_floats = 0;
  size_t worker_bytes = 0;
};
inline constexpr size_t kMostTilePixels = 14;
bool reads_lines(const ConvShape& shape);
LinesPlan plan_lines(const ConvShape& shape);

/// Edge of a tile of outputs, and products for one.
inline size_t winograd_tile(ConvAlgorithm a) { return a == ConvAlgorithm::winograd2 ? 2 : 4; }

/// Task = (block of output tiles, group of output channels). Per worker: the transformed input V [plane][tile][in_c]
/// of one block, transformed filters U, the products M [plane][tile][columns], and in_c zeros that stand for the
/// padding. The planes are taken in parts of two rows of a tile: of F(4x4) rows 1 and 2, then 3 and 4 (each the points p
/// and -p), then 0 and 5; of F(2x2) rows 1 and 2, then 0 and 3. U is [plane][panel][in_c][panel width] of a group
/// where they are kept from one block to the next, else of one part and `chunk` columns.
struct WinogradPlan {
  size_t tile = 0, planes = 0, parts = 0, part_planes = 0;
  size_t tiles_h = 0, tiles_w = 0, tiles = 0;
  size_t block_tiles = 0, blocks = 0;
  size_t columns = 0, column_groups = 0, chunk = 0;
  size_t v_stride = 0, v_plane = 0, m_stride = 0, m_plane = 0, u_plane = 0;
  bool keeps_filters = false;
  size_t worker_bytes = 0;
};
WinogradPlan plan_winograd(const ConvShape& shape, ConvAlgorithm algorithm);
/// What one task of a Winograd convolution computes: tiles [t0, t1) of the batch, output channels [n0, n1).
struct WinogradBlock {
  size_t t0, t1, n0, n1;
};
/// A part of the planes of filters [n0, n1); n0 is a multiple of gemm_panel_width().
struct WinogradFilters {
  size_t part, n0, n1;
};
/// Two rows of U = G · w · G^T from the packed filters of `rows`; `u`: panel n0 of the first plane of the part.
void winograd_filters(const WinogradPlan& plan, size_t in_c, const WinogradFilters& which, const float* packed,
                      float* u) noexcept;

/// The first bytes of a worker's scratch.
struct alignas(64) WorkerHead {
  size_t block;    // whose input lies in the scratch, or kNoBlock
  size_t filters;  // Winograd: the first channel of those whose filters lie in the scratch, or kNoBlock
};
inline constexpr size_t kNoBlock = size_t(-1);
void reset_workers(void* scratch, size_t worker_bytes, int workers) noexcept;
inline WorkerHead* worker_head(void* scratch, size_t worker_bytes, int worker) {
  return reinterpret_cast<WorkerHead*>(static_cast<char*>(scratch) + size_t(worker) * worker_bytes);
}

/// One output row of an image, channels [c0, c1); a task of a depthwise convolution computes some of them.
struct DepthwiseRow {
  size_t image, y, c0, c1;
};
inline constexpr size_t kMaxLanes = 16;  ///< floats of the widest vector; channel blocks are multiples of it

size_t depthwise_packed_bytes(const ConvShape& shape);
void depthwise_pack(const ConvShape& shape, const float* weights, float* packed) noexcept;

void conv_rows(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;
void conv_lines(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;
void conv_winograd(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;
void conv_depthwise(const ConvArgs& args, const Parallel& par) noexcept;

}  // namespace retort::kernels::conv_detail
