// Convolution of channels-last images of 8-bit codes by signed 8-bit filters, with results that are codes again:
//
//   out[b, y, x, o] = round((Σ (in - zero of the image) · (w - zero of the filters) + bias[o]) · scale[o] + offset[o])
//                     + zero of the result
//
// rounded half to even and clamped to the range of the result; a NaN gives the smallest code. Sums are exact in 32 bits
// that wrap around, so results have the same bits on every instruction level and for any number of threads. Pixels
// outside the image count as the zero point. The codes of another image may be added to the result; the sum is rounded
// as kernels/elementwise/codes.h does. Shapes and pixel strides, here in bytes, are those of kernels/conv/conv.h.
#pragma once
#include "kernels/conv/conv.h"
#include "kernels/elementwise/codes.h"
#include "kernels/gemm/gemm_codes.h"

namespace retort::kernels {

/// The shape, and how products are added: if saturating, element t · in_c + c of k is channel c of tap t, pixels are the
/// unsigned side, and those outside the image count as their zero point. Depthwise sums are always exact.
struct CodesConvShape : ConvShape {
  CodesSums sums = CodesSums::exact;
  bool input_signed = false;  ///< packed filters do not depend on it
  int32_t filter_zero = 0;    ///< of all filters; depthwise, more than -128. If it is not 0, sums must be exact
  bool saturates() const { return groups == 1 && sums != CodesSums::exact; }
};

/// Whether the shape is supported: one group, or as many groups as channels of the image and of the result.
bool suits_conv_codes(const ConvShape& shape);

/// Bytes of the packed form of filters [out_c, in_c / groups, kernel_h, kernel_w]. It depends on the instruction level
/// and the weights, but not on batch, spatial sizes, strides, padding or pixel strides. 64-byte aligned.
size_t conv_codes_packed_bytes(const CodesConvShape& shape, const int8_t* filters);
/// `packed` must be zero.
void pack_conv_codes(const CodesConvShape& shape, const int8_t* filters, void* packed) noexcept;

/// The kernels have an order of channels of their own, with places for padding: the number of places, and the channel
/// of a place; of padding, out_c or more.
size_t conv_codes_places(const ConvShape& shape);
size_t conv_codes_channel(const ConvShape& shape, size_t place);
/// The number that the kernels multiply by a weight for pixels with code `zero`. The sum of a channel's weights, less
/// their zero point, times this number must be subtracted from its bias.
int32_t conv_codes_zero(const CodesConvShape& shape, int32_t zero, bool is_signed);

/// Codes that are added to those of the result. Without `other.codes`, nothing is added.
struct CodesResidual {
  CodeRun other;            ///< an image of the shape of the result; it may be the output
  size_t pixel_stride = 1;  ///< of the other image
  float scale = 1;          ///< of the codes of the convolution
  CodeRun sum;              ///< what the codes of the output mean
};

/// Results that are not codes: int32_t sums with their biases or, with `scale`, floats:
///
///   act(sum · scale[o] + epilogue.bias[o] + residual)
///
/// where each operation rounds. Strides are those of floats.
struct WideResults {
  void* data = nullptr;          ///< without it, results are codes
  const float* scale = nullptr;  ///< of each channel
  Epilogue epilogue;             ///< the residual may not overlap the results
};

struct ConvCodesArgs {
  CodesConvShape shape;
  const uint8_t* input = nullptr;
  uint8_t input_zero = 0;  ///< the byte of the zero point
  const int8_t* packed = nullptr;
  /// For each place: what is added to the sums, and the scales and offsets of the results, zeros if these are wide.
  const int32_t* bias = nullptr;
  const float *scale = nullptr, *offset = nullptr;
  uint8_t* output = nullptr;  ///< may not overlap the input
  bool output_signed = false;
  int32_t output_zero = 0;
  CodesResidual residual;  ///< only with one group
  WideResults wide;
};

/// Bytes of `scratch`, 64-byte aligned.
size_t conv_codes_scratch_bytes(const CodesConvShape& shape, bool residual, int workers);
void conv_codes(const ConvCodesArgs& args, void* scratch, const Parallel& par) noexcept;

/// The reference: plain loops, for any number of groups. `packed` has the filters as they are, bias, scale and offset
/// are those of the channels, and the biases include no zero point.
void conv_codes_reference(const ConvCodesArgs& args) noexcept;

}  // namespace retort::kernels
