// Padding of any rank, negative pads included.
#pragma once
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "kernels/move/mover.h"

namespace retort::kernels {

enum class PadMode : uint8_t { constant, reflect, edge, wrap };

/// Dimension d becomes before[d] + shape[d] + after[d]. Negative pads cut first; what remains is padded. reflect leaves
/// the border element out of the mirror. All modes but constant need at least one remaining element in a dimension that
/// is padded.
struct PadArgs {
  std::span<const int64_t> shape, before, after;
  PadMode mode = PadMode::constant;
  const void* value = nullptr;  ///< one element, for constant
};

/// False, and nothing done, when the shape has more than 16 dimensions that are not merged (neighbours without pads
/// are).
bool pad(const Mover& mover, const PadArgs& args, const void* x, void* y, const Parallel& par);

}  // namespace retort::kernels
