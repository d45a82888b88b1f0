// What the layout pass knows of operators: which of their operands are images, and how they read when the channels come
// last.
#pragma once
#include <optional>
#include <vector>

#include "passes/match.h"

namespace retort {

/// Axis `axis` of a channels-first tensor, once the channels are last: 0 stays, 1 becomes the last one.
inline int64_t axis_when_last(int64_t axis, size_t rank) {
  return axis == 0 ? 0 : axis == 1 ? int64_t(rank) - 1 : axis - 1;
}
/// The permutations of Transpose between both layouts.
std::vector<int64_t> perm_to_last(size_t rank);
std::vector<int64_t> perm_to_first(size_t rank);

/// How a node takes part in the assignment of layouts.
struct ImageOp {
  bool wants_last = false;         ///< must be channels-last (its fast kernel is); else runs in both layouts
  size_t rank = 0;                 ///< of the images, 3 or 4
  std::vector<size_t> inputs;      ///< slots that hold images
  std::vector<size_t> broadcasts;  ///< slots that hold constants broadcast to the image
  bool reads_first = false;        ///< can read a channels-first image as well (first layer of a network)
};

/// nullopt: works on channels-first tensors only, or not on images at all.
std::optional<ImageOp> image_op(const Graph& graph, const Node& node);

/// The node for channels-last images. spec.inputs of the slots in ImageOp::inputs hold the old values still;
/// `constant` makes new constants.
struct LastForm {
  NodeSpec spec;
  std::vector<std::pair<size_t, Tensor>> constants;  ///< slots whose content changes
};
LastForm last_form(const Graph& graph, const Node& node, const ImageOp& op);

/// A constant that broadcasts to a channels-first image of `rank` axes, for the channels-last one.
Tensor broadcast_to_last(const Tensor& constant, size_t rank);

}  // namespace retort
