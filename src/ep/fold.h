// Folds constants before providers claim nodes, so that providers only compute what depends on inputs.
#pragma once
#include "ep/cpu.h"

namespace retort {

/// Replaces nodes of `model`, which is still in its own dialect, by their results, as the passes would: nodes that read
/// only constants, those that make integers which follow from shapes, and Casts to the type that a value has. Random numbers, dequantized weights and results
/// that are much larger than their inputs are not folded.
void fold_before_claims(Model& model, const LowerOptions& options);

}  // namespace retort
