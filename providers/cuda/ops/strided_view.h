// Views of tensors: what a chain of Reshape, Transpose, Slice and Expand makes of a tensor, without moving it.
#pragma once
#include <memory>
#include <vector>

#include "cuda/core/operators.h"

namespace providers::cuda {

/// Place p of an axis lies `p / repeat * stride` elements behind its first one.
struct ViewAxis {
  int64_t extent = 1, stride = 0, repeat = 1;
};

/// A tensor in device memory that need not be contiguous.
struct StridedView {
  Operand data;  ///< with the offset of the first element; its dims are not used
  std::vector<ViewAxis> axes;

  Dims dims() const;
};
StridedView view_of_rows(const Operand& operand);
/// Copies the view to scratch memory unless it is contiguous already. At most six axes.
StridedView contiguous(Emitter& e, const StridedView& view);

/// One node of a chain. Inputs other than the tensor are numbers of the operator's own inputs.
struct ViewStep {
  enum class Kind { reshape, transpose, unsqueeze, squeeze, expand, slice, split } kind = Kind::reshape;
  int first = -1;                        ///< shape, axes or starts; -1: none
  int ends = -1, axes = -1, steps = -1;  ///< of slice
  bool allows_zero = false;              ///< of reshape
  Dims list;                             ///< perm, or the axes of an attribute
  int64_t part = 0, parts = 1;           ///< of split, on the last axis
};
/// The step of a node that is one; nothing otherwise. `input` gives the number of an input of the operator.
std::optional<ViewStep> view_step(const Node& node, const std::function<int(const Value*)>& input);
/// Applies the steps; copies where a step needs another order of elements. Throws Error by e.fail for shapes that
/// contradict each other.
StridedView apply(Emitter& e, StridedView view, const std::vector<ViewStep>& steps);

}  // namespace providers::cuda
