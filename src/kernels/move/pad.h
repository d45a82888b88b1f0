// Padding of any rank, negative pads included.
#pragma once
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "kernels/move/mover.h"

namespace retort::kernels {

enum class PadMode : uint8_t { constant, reflect, edge, wrap };

/// Dimension d becomes before[d] + shape[d] + after[d]. Negative pads crop first; the rest is padded. reflect does not
/// repeat the border element. All modes except constant need at least one remaining element in a dimension that is
/// padded.
struct PadArgs {
  std::span<const int64_t> shape, before, after;
  PadMode mode = PadMode::constant;
  const void* value = nullptr;  ///< one element, for constant
};

/// Returns false, and does nothing, if the shape has more than 16 dimensions that cannot be merged (neighbours without
/// pads can).
bool pad(const Mover& mover, const PadArgs& args, const void* x, void* y, const Parallel& par);

}  // namespace retort::kernels
