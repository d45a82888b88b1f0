// How the left side of a product with n-bit weights is rounded.
#pragma once
#include "kernels/gemm/gemm_nbits.h"
#include "ops/run_context.h"

namespace retort::ops {

/// accuracy_level 4 allows rows in 8 bits, as ONNX Runtime has them. Otherwise products are exact, unless the session
/// multiplies in bfloat16 arithmetic.
inline kernels::NBitInput nbits_input(int64_t accuracy_level, const PrepareOptions& options) {
  if (accuracy_level == 4 && !options.strict) return kernels::NBitInput::rounded;
  return options.bf16_products ? kernels::NBitInput::bf16 : kernels::NBitInput::exact;
}

}  // namespace retort::ops
