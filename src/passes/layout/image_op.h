// The layout pass's knowledge of operators: which of their operands are images, and their form for channels-last
// images.
#pragma once
#include <optional>
#include <vector>

#include "passes/match.h"

namespace retort {

/// The index of `axis` of a channels-first tensor when the channels are last: 0 stays, 1 becomes the last one.
inline int64_t axis_when_last(int64_t axis, size_t rank) {
  return axis == 0 ? 0 : axis == 1 ? int64_t(rank) - 1 : axis - 1;
}
/// The permutations of Transpose between both layouts.
std::vector<int64_t> perm_to_last(size_t rank);
std::vector<int64_t> perm_to_first(size_t rank);

/// The role of a node in the assignment of layouts.
struct ImageOp {
  /// Its fastest kernel is channels-last: it takes that form, but if it also runs `first`, only where that gains more
  /// than the moves of elements cost. Otherwise it runs equally well in both layouts.
  bool wants_last = false, runs_first = false;
  size_t rank = 0;                 ///< rank of the images, 3 or 4, or of volumes, 5
  std::vector<size_t> inputs;      ///< inputs that are images
  std::vector<size_t> broadcasts;  ///< inputs that are constants broadcast to the image
  bool reads_first = false;        ///< can also read a channels-first image (the first layer of a network)
  bool is_pool = false;            ///< reduces windows, for which channels-last vectors are best
};

/// nullopt if the node works only on channels-first tensors, or not on images at all.
std::optional<ImageOp> image_op(const Graph& graph, const Node& node);

/// The node for channels-last images. The inputs listed in ImageOp::inputs are still the old values in spec.inputs; new
/// constants are in `constants`.
struct LastForm {
  NodeSpec spec;
  std::vector<std::pair<size_t, Tensor>> constants;  ///< inputs whose content changes
};
LastForm last_form(const Graph& graph, const Node& node, const ImageOp& op);

/// Converts a constant that broadcasts to a channels-first image of `rank` axes to one for the channels-last image.
Tensor broadcast_to_last(const Tensor& constant, size_t rank);

}  // namespace retort
