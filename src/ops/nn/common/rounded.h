// Helpers for operators that round intermediate results to the element type, while their reference computes in float.
#pragma once
#include <cmath>

#include "ops/op.h"

namespace retort::ops {

/// x as an element of type `type` has it: float32, float16 or bfloat16.
inline float rounded(DType type, float x) {
  if (type == DType::f16) return float(float16(x));
  if (type == DType::bf16) return float(bfloat16(x));
  return x;
}

inline float sigmoid(float x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

inline constexpr TypeSet kSingleFloats = types({DType::f32, DType::f16, DType::bf16});

}  // namespace retort::ops
