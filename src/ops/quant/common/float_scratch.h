// Inputs and outputs as float32, for kernels that compute on float32 alone: tensors of another type are converted in
// scratch memory.
#pragma once
#include "kernels/elementwise/cast.h"
#include "ops/quant/common/codes.h"

namespace retort::ops {

/// Input i; null if it is omitted. If `parts` has no base, memory is only counted.
inline const float* float_input(const RunContext& c, size_t i, ScratchParts& parts) {
  if (!c.has(i)) return nullptr;
  if (c.dtype(i) == DType::f32) return static_cast<const float*>(c.data(i));
  float* to = parts.take<float>(c.count(i));
  if (to) kernels::cast(c.data(i), c.dtype(i), to, DType::f32, c.count(i), c.parallel());
  return to;
}

/// Memory for output 0: its own, or scratch that store_result() converts.
inline float* float_output(const RunContext& c, ScratchParts& parts) {
  return c.out_dtype() == DType::f32 ? static_cast<float*>(c.out_data()) : parts.take<float>(c.out_count());
}

/// Writes `y`, of float_output(), to output 0, unless it already lies there.
inline void store_result(const RunContext& c, const float* y) {
  if (c.out_dtype() != DType::f32)
    kernels::cast(y, DType::f32, c.out_data(), c.out_dtype(), c.out_count(), c.parallel());
}

}  // namespace retort::ops
