// Conversion between the numeric element types and bool. Thread-safe, no allocation.
//
// Narrowing of integers wraps. Floats to integers truncate; what does not fit gives what x86 hardware gives, at every
// level: 8, 16 and 32 bits signed go through int32_t, int64_t is direct, and out of range or NaN is the smallest number
// of that type before it is narrowed; unsigned 32 and 64 bits treat the upper half of their range apart. Floats round
// to nearest even, to bool every value but zero is true. float64 to 16-bit floats goes through float32.
#pragma once
#include <cstddef>

#include "base/parallel.h"
#include "tensor/dtype.h"

namespace retort::kernels {

/// f16, bf16, f32, f64, bool and the integers of 8 to 64 bits.
bool can_cast(DType type) noexcept;

/// Converts n elements. Both types must satisfy can_cast; x and y must not overlap unless they are the same and the
/// sizes are.
void cast(const void* x, DType from, void* y, DType to, size_t n, const Parallel& par) noexcept;

}  // namespace retort::kernels
