// The division of a convolution into tasks, and the layout of scratch; shared by conv_scratch_bytes and the algorithms.
#pragma once
#include <algorithm>

#include "kernels/conv/conv.h"

namespace retort::kernels::conv_detail {

/// Half of a usual L2 cache (1 MiB): what one task keeps there besides the weights that it reads once.
inline constexpr size_t kGatherBytes = 512 << 10;
/// The number of tasks to aim for, so that a few threads finish together.
inline constexpr size_t kWantedTasks = 16;
/// A task with less work than this is not divided further: about 2 µs of one core.
inline constexpr size_t kTaskMacs = 128 << 10;

/// Number of tasks for this many multiply-adds.
size_t wanted_tasks(size_t macs);

/// The stride of the rows of a matrix that is read a few rows at a time: if it were a multiple of 1 KiB, all rows would
/// share a few sets of the first-level cache, so such rows are one cache line further apart.
size_t spread_stride(size_t floats);

/// Divides `columns` into equal groups of whole GEMM panels, at most `wanted` of them.
size_t group_columns(size_t columns, size_t wanted);

/// A task is a group, a block of output pixels, and a group of output channels. A worker remembers the block that it
/// has gathered last.
struct RowsPlan {
  size_t group_in = 0, group_out = 0;  // channels of one group
  size_t k = 0;                        // length of a patch
  size_t row_stride = 0;
  size_t block_pixels = 0, blocks = 0;
  size_t columns = 0, column_groups = 0;
  bool direct = false;     // patches are pixels of the input in place: nothing is gathered
  bool bf16 = false;       // rows are rounded
  size_t image_bytes = 0;  // of the rounded image, from which rows are gathered, before the scratch of the workers
  size_t worker_bytes = 0;
};
RowsPlan plan_rows(const ConvShape& shape, bool bf16 = false);
/// Whether patches are pixels of the input.
bool is_pointwise(const ConvShape& shape);
/// Whether they are also in place, one after the other.
bool is_direct(const ConvShape& shape);
/// Whether the factors of the input are multiplied into the weights, image by image, since these are fewer, and must be
/// both read and written for it. The pixels then stay in place.
bool scales_weights(const ConvShape& shape);
/// For the packed weights of one group.
size_t group_packed_bytes(const ConvShape& shape);

/// Whether every line of the image is convolved alone (kernel height 1), from a dense or strided channels-last input.
inline bool is_along_lines(const ConvShape& s) {
  return s.groups == 1 && s.kernel_h == 1 && s.kernel_w > 1 && s.stride_h == 1 && s.pad_top == 0 && s.out_h == s.in_h &&
         !s.input_is_nchw && !s.scaled_input;
}

/// The division of a convolution of lines whose patches overlap in memory (kernel height 1; stride or dilation 1). A
/// strip has those outputs of a line that are `dilation` apart; a task is a strip, a block of its outputs, and a group
/// of output channels.
struct StripsPlan {
  size_t strips = 0, block_outputs = 0, blocks = 0;
  size_t columns = 0, column_groups = 0;
  size_t worker_bytes = 0;
};
/// Whether ConvAlgorithm::strips can convolve the shape, and not slower than rows.
bool suits_strips(const ConvShape& shape);
/// Number of non-empty images that every dilation_h-th row of an image makes.
inline size_t row_phases(const ConvShape& s) {
  return std::clamp<size_t>(s.dilation_h, 1, std::max<size_t>(s.out_h, 1));
}
/// Number of non-empty strips of a line.
inline size_t phases(const ConvShape& s) { return std::clamp<size_t>(s.dilation_w, 1, std::max<size_t>(s.out_w, 1)); }
StripsPlan plan_strips(const ConvShape& shape);

/// The division of a convolution of an image with few channels, or to few: lines of padded input, each of which gives
/// runs of `run` inputs to a pixel; the runs of neighbouring pixels are `step` floats apart. Packed weights are those
/// of conv_rows: the weights of a step of the sum are `width` floats apart. A task is some rows of the output.
struct LinesPlan {
  size_t lines = 0, run = 0, step = 0;
  bool pixels = false;          // a vector has one channel of neighbouring pixels, whose inputs follow each other
  size_t tap = 1;               // for pixels: floats from one input of a run to the next
  size_t width = 0, lanes = 0;  // floats of a panel and of a vector
  size_t line_floats = 0;
  bool dots = false;  // sums are dot products of runs, `outputs` (1, 2 or 4) of a pixel at a time
  size_t outputs = 0;
  size_t weight_floats = 0;  // of the weights in the order of dot products
  size_t head_bytes = 0;     // of LinesMemory::lines and held
  size_t worker_bytes = 0;
};
/// What a worker has in its scratch. Neighbouring rows of the output share lines, which are copied once: line i of the
/// kernel's is in one of kernel_h places, the same one in all planes.
struct LinesMemory {
  const float** lines;  ///< the lines of an output row, in the order of the sum
  size_t* held;         ///< for each place, which line it has
  float *weights, *copies;
};
inline constexpr size_t kMostTilePixels = 28;
/// Whether ConvAlgorithm::lines can convolve the shape, and not slower than rows.
bool suits_lines(const ConvShape& shape);
LinesPlan plan_lines(const ConvShape& shape);

/// The first bytes of a worker's scratch.
struct alignas(64) WorkerHead {
  size_t block;    // the block whose input is in the scratch, or kNoBlock
  size_t filters;  // for Winograd: the first channel of the filters in the scratch, or kNoBlock
};
inline constexpr size_t kNoBlock = size_t(-1);
void reset_workers(void* scratch, size_t worker_bytes, int workers) noexcept;
inline WorkerHead* worker_head(void* scratch, size_t worker_bytes, int worker) {
  return reinterpret_cast<WorkerHead*>(static_cast<char*>(scratch) + size_t(worker) * worker_bytes);
}

/// Output rows [y0, y1) of an image, channels [c0, c1): a part of a task of a depthwise convolution.
struct DepthwisePart {
  size_t image, y0, y1, c0, c1;
};
/// Bytes of an input image.
inline size_t image_bytes(const ConvShape& s) { return s.in_h * s.in_w * s.in_pixel_stride * sizeof(float); }
/// Whether the second-level cache holds much of an image. Each row is read as often as the kernel has rows.
inline bool is_near_image(const ConvShape& s) { return image_bytes(s) <= (size_t(400) << 10) * s.kernel_h; }
/// Whether an image probably comes from memory.
inline bool is_far_image(const ConvShape& s) { return image_bytes(s) > size_t(8) << 20; }
inline constexpr size_t kMaxLanes = 16;  ///< floats of the widest vector; channel blocks are multiples of it

/// Whether neighbouring output rows read mostly the same input rows, so that two of them are computed together.
inline bool overlaps(const ConvShape& s) {
  return s.stride_h * s.dilation_h * s.stride_w * s.dilation_w == 1 && s.kernel_h > 0;
}
/// A task is some rows of an image and a block of channels. It computes `near` channels of all its rows before the
/// next, so that the window of a block stays in the first-level cache from row to row. Tasks have rows of their own,
/// because the convolutions before and after are divided by rows too; small maps are divided by channels, as those are
/// (rows_plan.cc).
struct DepthwisePlan {
  size_t rows = 0, row_blocks = 0, channels = 0, channel_blocks = 0, near = 0;
};
DepthwisePlan plan_depthwise(const ConvShape& shape);

/// Where the taps of a depthwise convolution are: floats from one filter, row or tap to the next; modulo 2^64, since
/// those of a transposed convolution run backwards.
struct DepthwiseWeights {
  const float* data;
  size_t filter, first, row, tap;
};
size_t depthwise_packed_bytes(const ConvShape& shape);
void depthwise_pack(const ConvShape& shape, const DepthwiseWeights& weights, float* packed) noexcept;

void conv_rows(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;
/// bf16_rows of the first convolution of a network, whose image has few channels (bf16_lines.cc).
bool suits_bf16_lines(const ConvShape& shape);
size_t bf16_lines_packed_bytes(const ConvShape& shape);
void bf16_lines_pack(const ConvShape& shape, const float* weights, float* packed, const Parallel& run) noexcept;
size_t bf16_lines_scratch_bytes(const ConvShape& shape);
void conv_bf16_lines(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;
/// The same without AMX: bf16_rows of pixels that are padded to four channels (bf16_lines.cc).
bool suits_bf16_pixels(const ConvShape& shape);
ConvShape bf16_pixels(const ConvShape& shape);
void bf16_pixels_pack(const ConvShape& shape, const float* weights, float* packed, const Parallel& run) noexcept;
void conv_bf16_pixels(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;

void conv_strips(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;
void conv_lines(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;
void conv_winograd(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;
void conv_depthwise(const ConvArgs& args, const Parallel& par) noexcept;

}  // namespace retort::kernels::conv_detail
