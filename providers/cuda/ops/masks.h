// Masks of padding and additive masks of the operators of com.microsoft, as one operand of scores.
#pragma once
#include "heads.h"

namespace providers::cuda {

/// Inputs `mask` and `bias` of the operator; either may be omitted.
struct MaskCall {
  size_t mask = 0, bias = 0;
  int64_t batch = 0, heads = 0, rows = 0, keys = 0;
  float filter = 0;  ///< what is added to the scores of keys that the mask hides
};
/// The sum of both masks; nothing if there are none. A mask is int32: [batch, keys] or [batch, rows, keys] with 0 for
/// keys that are hidden, or [batch], the number of keys; [2 * batch] has their first keys behind, and of
/// [3 * batch + 2] only the first `batch` count.
std::optional<ScoreOperand> joined_masks(Emitter& e, const MaskCall& call);

}  // namespace providers::cuda
