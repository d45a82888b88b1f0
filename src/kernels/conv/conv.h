// Convolution of channels-last (NHWC) images in single precision, forward, one or two spatial dimensions (1-D: height
// 1).
//
//   out[b, y, x, o] = act(bias[o] + residual[b, y, x, o] +
//                         sum over i, j, c of w[o, c, i, j] · in[b, y·stride_h - pad_top + i·dilation_h, x·…, c])
//
// Pixels outside the image count as zero. A tensor is addressed by its *pixel stride*, the number of floats from one
// pixel to the next, at least its number of channels: a convolution can read from and write into a slice of the
// channels of a wider tensor. Rows and images follow each other without gaps: pixel p of the batch starts at p ·
// pixel_stride.
//
// The division of work depends only on shapes and the ISA, and every sum has one fixed order, so results have the same
// bits for any number of threads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/gemm/gemm.h"

namespace retort::kernels {

/// Channel counts are those of all groups together. Bottom and right padding follow from the output size. Spatial sizes
/// and the batch may be 0 (not known yet) in conv_packed_bytes, conv_pack and the choose_conv before them; everywhere
/// else 0 means an empty tensor.
struct ConvShape {
  size_t batch = 1, in_h = 1, in_w = 1, in_c = 1;
  size_t out_h = 1, out_w = 1, out_c = 1;
  size_t kernel_h = 1, kernel_w = 1;
  size_t stride_h = 1, stride_w = 1;
  size_t dilation_h = 1, dilation_w = 1;
  size_t pad_top = 0, pad_left = 0;
  size_t groups = 1;
  size_t in_pixel_stride = 1, out_pixel_stride = 1;
  /// The input is dense [batch, in_c, in_h, in_w], for the first layer of a network. Only for ConvAlgorithm::rows and
  /// lines, with groups == 1.
  bool input_is_nchw = false;
  /// Whether ConvArgs::input_scale is given. For channels-last input; not for Winograd and depthwise.
  bool scaled_input = false;

  size_t out_pixels() const { return batch * out_h * out_w; }
  bool operator==(const ConvShape&) const = default;
};

/// Makes a column of pixels (kernel k x 1) a line: it has the same memory, packed weights are the same since the order of
/// the taps is, and there are faster algorithms for lines. Other shapes stay as they are.
ConvShape lay_down(ConvShape shape);
/// Where the kernel is as wide as the image, makes the pixels of a row the channels of one pixel: a line again, with the
/// same memory and, except for `bf16_rows`, the same packed weights. For dense input, once the extents are known.
ConvShape fold_width(const ConvShape& shape);

enum class ConvAlgorithm : uint8_t {
  pointwise,  ///< 1x1 without padding: one GEMM over the pixels; rows are gathered first if strided or scaled
  strassen,   ///< the same, with seven multiplications instead of eight (gemm/strassen.h)
  /// Any kernel, groups == 1: implicit GEMM over input patches, which are gathered block by block.
  rows,
  inside,   ///< `rows` for each rectangle of pixels that have the same taps inside of the image, without the other taps
  windows,  ///< suits_windows(): implicit GEMM without gathering; its rows overlap in copies of the input lines
  /// 1xk, groups == 1: the same along one line, also with dilation.
  strips,
  /// Up to 4 channels, groups == 1: direct sums over padded copies of the input lines of an output row.
  lines,
  winograd4,  ///< 3x3, stride 1, groups == 1, out_w · dilation_h a multiple of dilation_w: F(4x4, 3x3)
  winograd2,  ///< the same with F(2x2, 3x3)
  /// The same with filters that are transformed when they are packed: 16 instead of 9 floats each, for images of few
  /// tiles.
  winograd2_packed,
  winograd4_packed,  ///< F(4x4, 3x3) with filters packed for winograd2_packed, for batches of such images
  winograd_line,     ///< 1xk, stride 1, any dilation, groups == 1: F(4, 3 to 5), longer kernels in groups of 4 taps
  depthwise,         ///< groups == in_c == out_c
  grouped,           ///< any convolution: `rows` for each group
  groups,            ///< groups of few channels (suits_groups()): direct sums over padded copies of the input lines
  bf16_rows,         ///< `rows` in bfloat16 arithmetic (gemm/gemm_bf16.h), for an even number of input channels
  bf16_winograd,     ///< winograd2_packed whose transformed input and filters are rounded to bfloat16, for the same
};
/// As the enumerator is called.
const char* conv_algorithm_name(ConvAlgorithm algorithm);

constexpr bool is_winograd(ConvAlgorithm a) {
  return a >= ConvAlgorithm::winograd4 && a <= ConvAlgorithm::winograd_line;
}

/// The fastest algorithm according to a cost model. Winograd's error is about ten times that of a plain sum (but below
/// 1e-5 of the largest output), Strassen's is smaller; `strict` excludes both.
ConvAlgorithm choose_conv(const ConvShape& shape, bool strict);
/// Whether winograd2_packed, which choose_conv() never returns, is faster than what it returns. A batch of 0 counts as
/// 1; false if other sizes are not known.
bool saves_by_packed_winograd(const ConvShape& shape, bool strict);
/// The faster of winograd2_packed and winograd4_packed.
ConvAlgorithm choose_packed_winograd(const ConvShape& shape);
/// Whether bf16_rows can be used for a convolution and is faster than what choose_conv() returns. Sizes of 0 count as
/// large ones. Winograd's method in float32 is faster for most large images.
bool saves_by_bf16(const ConvShape& shape, bool strict);

/// Whether bf16_winograd is faster than bf16_rows and than what choose_conv() returns. Sizes of 0 count as large ones.
/// A tile has sums of four inputs, so the error is about 1.7 times that of bf16_rows.
bool saves_by_bf16_winograd(const ConvShape& shape, bool strict);

/// Packed weights for the current ISA, from [out_c, in_c / groups, kernel_h, kernel_w]; 64-byte aligned. All algorithms
/// use the same packing, except `depthwise`, `groups`, bf16_rows, bf16_winograd, and winograd2_packed and
/// winograd4_packed, which share one. It does not depend on batch, spatial sizes, strides, dilations, padding or pixel
/// strides: it serves whatever choose_conv returns for the shapes of a run.
/// `weights` need not be aligned. Packing returns early once `run` is cancelled.
size_t conv_packed_bytes(const ConvShape& shape, ConvAlgorithm algorithm);
void conv_pack(const ConvShape& shape, ConvAlgorithm algorithm, const float* weights, float* packed,
               const Parallel& run = {}) noexcept;

struct ConvArgs {
  ConvShape shape;
  ConvAlgorithm algorithm = ConvAlgorithm::rows;
  const float* input = nullptr;
  const float* packed = nullptr;
  float* output = nullptr;             ///< may not overlap the input; only out_c floats of each pixel are written
  const float* input_scale = nullptr;  ///< [batch, in_c]: factors of the input, as in squeeze-and-excite
  Epilogue epilogue;  ///< residual_stride is the pixel stride of the residual, which may be the output itself
};

/// Bytes of scratch (64-byte aligned; if 0, scratch may be null) that conv needs for `workers` = Parallel::workers().
size_t conv_scratch_bytes(const ConvShape& shape, ConvAlgorithm algorithm, int workers);
/// Thread-safe for distinct outputs and scratch; allocates nothing. The caller must have checked the shape.
void conv(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;

/// The reference of conv(): a plain loop that accumulates in double. `weights` are those given to conv_pack;
/// args.packed is not used.
void conv_reference(const ConvArgs& args, const float* weights) noexcept;

}  // namespace retort::kernels
