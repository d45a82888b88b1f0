// The loops of elementwise kernels: which axes they have, and how operands move along them.
#pragma once
#include <vector>

#include "elementwise.h"

namespace providers::cuda {

/// Shapes with one extent per axis of the result, by the broadcasting of ONNX; nothing if they do not fit.
std::optional<Dims> broadcast_dims(const Dims& a, const Dims& b);
/// With leading extents of 1, so that it has `rank` axes.
Dims padded(const Dims& dims, size_t rank);
size_t elements_in(const Dims& dims);

constexpr size_t kMostAxes = 8;

/// Axes with the steps of each operand, in elements.
struct LoopAxes {
  Dims extents;               ///< outermost first
  std::vector<Dims> strides;  ///< by operand; 0 along axes that it is broadcast over
};
/// The axes of a loop over `dims` in this layout, without extents of 1, and with axes merged over which all operands
/// move as over one.
LoopAxes loop_axes(const Dims& dims, Layout layout, const std::vector<Operand>& operands);
/// How an operand is read if it is alone.
Access access_of(const LoopAxes& axes, size_t operand);

/// The arguments of kernels/functions.cuh.
struct KernelAxes {
  uint32_t extent[kMostAxes] = {}, magic[kMostAxes] = {}, shift[kMostAxes] = {};
};
struct KernelStrides {
  int64_t at[kMostAxes] = {};
};
KernelAxes kernel_axes(const Dims& extents);
KernelStrides kernel_strides(const Dims& strides);

}  // namespace providers::cuda
