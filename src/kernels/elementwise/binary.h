// y = f(a, b) on floats and integers with numpy broadcasting. Thread-safe, no allocation. y may be a or b if that input
// is not repeated (plan.step and all strides are as in the output).
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "kernels/elementwise/broadcast.h"

namespace retort::kernels {

enum class Binary : uint8_t {
  add,
  sub,
  mul,
  div,  ///< integers: rounded towards zero; x / 0 = 0, and min / -1 = min
  min,  ///< NaN if one of both is NaN
  max,
  pow,    ///< floats as by C's pow; integers by squaring modulo 2^bits, 0 for negative exponents unless |a| = 1
  prelu,  ///< a < 0 ? a·b : a
};

/// `plan` is that of the shapes of a and b. Integers wrap around.
void binary(Binary op, const float* a, const float* b, float* y, const BroadcastPlan<2>& plan,
            const Parallel& par) noexcept;
void binary(Binary op, const double* a, const double* b, double* y, const BroadcastPlan<2>& plan,
            const Parallel& par) noexcept;
void binary(Binary op, const int32_t* a, const int32_t* b, int32_t* y, const BroadcastPlan<2>& plan,
            const Parallel& par) noexcept;
void binary(Binary op, const int64_t* a, const int64_t* b, int64_t* y, const BroadcastPlan<2>& plan,
            const Parallel& par) noexcept;
/// add, sub and mul of integers of `bytes` bytes, 1, 2, 4 or 8, signed or not: both have the same bits.
void wrapping_binary(Binary op, size_t bytes, const void* a, const void* b, void* y, const BroadcastPlan<2>& plan,
                     const Parallel& par) noexcept;

}  // namespace retort::kernels
