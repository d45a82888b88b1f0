// What is known before any run is no work for a provider.
#pragma once
#include "ep/cpu.h"

namespace retort {

/// Makes constants of what nodes of `model`, still in its own dialect, make of nothing but constants, as far as the passes
/// would: random numbers, results much larger than what they are made of, and dequantized weights stay.
void fold_before_claims(Model& model, const LowerOptions& options);

}  // namespace retort
