// Launches of the kernels in kernels/conv.cu.
#pragma once
#include "cuda/core/convolutions.h"
#include "windows.h"

namespace providers::cuda {

/// The sizes of one convolution. Dims are those of ONNX, of rank 3 to 5.
struct ConvSizes {
  Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  bool last = false;        ///< channels are last, in all tensors and the filter
  bool transposed = false;  ///< ConvTranspose
  int64_t group = 1;
  Dims x, w, y;
  WindowAxes axes;  ///< from x to y
};

/// Operands of a convolution; bias and residual may have no buffer.
struct ConvOperands {
  Operand x, w, bias, residual, y;
};

/// y = activation(y + residual + bias) in place.
void emit_epilogue(Emitter& e, const ConvSizes& s, const ConvEpilogue& epilogue, const ConvOperands& o);
/// to = activation(y + residual + bias) where `y` and the residual are broadcast to each other.
void emit_broadcast_epilogue(Emitter& e, bool last, const ConvEpilogue& epilogue, const ConvOperands& o,
                             const Operand& to);
/// Copies x into a tensor of `dims`, with zeros before the spatial axes (axes[i].begin) and behind all axes.
void emit_pad(Emitter& e, const ConvSizes& s, const Operand& x, const Dims& dims, const Operand& to);
/// Any convolution, one thread per element.
void emit_direct(Emitter& e, const ConvSizes& s, const ConvEpilogue& epilogue, const ConvOperands& o);
/// Whether `emit_depthwise` can run it.
bool is_depthwise(const ConvSizes& s);
/// One filter per channel, channels last. The filter's order in memory: {spatial..., channels}.
void emit_depthwise(Emitter& e, const ConvSizes& s, const ConvEpilogue& epilogue, const ConvOperands& o);

}  // namespace providers::cuda
