// Transposed convolution of channels-last (NHWC) images in single precision: the gradient of a convolution as a forward
// operation.
//
//   out[b, iy·stride_h - pad_top + i·dilation_h, …, o] += in[b, iy, ix, c] · w[c, o, i, j]
//
// Then bias, residual and activation are applied.
//
// Output rows (and columns) that are congruent modulo the stride use the same taps and neighbouring inputs: each such
// *phase* is a plain convolution of stride 1, computed by conv() with an output whose pixels lie `stride` apart.
#pragma once
#include "kernels/conv/conv.h"

namespace retort::kernels {

/// Like ConvShape, which describes strides and padding; here, padding is removed from the output. Packing needs only
/// the kernel, stride, dilation, padding, groups and channel counts.
struct ConvTransposeShape {
  size_t batch = 1, in_h = 1, in_w = 1, in_c = 1, out_h = 1, out_w = 1, out_c = 1;
  size_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  size_t pad_top = 0, pad_left = 0;
  size_t groups = 1;
  size_t in_pixel_stride = 1, out_pixel_stride = 1;
};

struct ConvTransposeArgs {
  ConvTransposeShape shape;
  const float* input = nullptr;
  const float* packed = nullptr;
  float* output = nullptr;
  Epilogue epilogue;  ///< as in ConvArgs
};

/// Packed weights for the current ISA, from [in_c, out_c / groups, kernel_h, kernel_w]; 64-byte aligned. Packing returns
/// early once `run` is cancelled.
size_t conv_transpose_packed_bytes(const ConvTransposeShape& shape);
void conv_transpose_pack(const ConvTransposeShape& shape, const float* weights, float* packed,
                         const Parallel& run = {}) noexcept;

/// See conv_scratch_bytes and conv.
size_t conv_transpose_scratch_bytes(const ConvTransposeShape& shape, int workers);
void conv_transpose(const ConvTransposeArgs& args, void* scratch, const Parallel& par) noexcept;

/// The reference: a plain loop that accumulates in double.
void conv_transpose_reference(const ConvTransposeArgs& args, const float* weights) noexcept;

}  // namespace retort::kernels
