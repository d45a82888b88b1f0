// Conversion between the numeric element types and bool. Thread-safe, no allocation.
//
// Narrowing of integers wraps around. Floats are truncated to integers. Numbers out of range give the result of x86
// hardware at every level: signed 8, 16 and 32 bits are converted through int32_t, int64_t directly, and NaN or a
// number out of range gives the smallest number of that type before it is narrowed; unsigned 32 and 64 bits handle the
// upper half of their range separately. Floats are rounded to nearest even; as bool, every value except zero is true.
// float64 is converted to 16-bit floats through float32.
#pragma once
#include <cstddef>

#include "base/parallel.h"
#include "tensor/dtype.h"

namespace retort::kernels {

/// f16, bf16, f32, f64, bool and the integers of 8 to 64 bits.
bool can_cast(DType type) noexcept;

/// Converts n elements. Both types must satisfy can_cast; x and y must not overlap, unless they are the same pointer
/// and the element sizes are equal.
void cast(const void* x, DType from, void* y, DType to, size_t n, const Parallel& par) noexcept;

}  // namespace retort::kernels
