// Comparisons, logic on booleans and selection, with numpy broadcasting. Thread-safe, no allocation. Booleans are bytes
// 0 and 1.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "kernels/elementwise/broadcast.h"

namespace retort::kernels {

enum class Compare : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };
enum class Logic : uint8_t { logic_and, logic_or, logic_xor };

/// y = a <op> b. Comparisons with NaN are false, not_equal true. Defined for float, double, int32_t, int64_t, uint8_t
/// and bool.
template <typename T>
void compare(Compare op, const T* a, const T* b, bool* y, const BroadcastPlan<2>& plan, const Parallel& par) noexcept;

void logic(Logic op, const bool* a, const bool* b, bool* y, const BroadcastPlan<2>& plan, const Parallel& par) noexcept;
void logic_not(const bool* x, bool* y, size_t n, const Parallel& par) noexcept;

/// y = condition ? a : b for elements of T's size. The plan is that of (condition, a, b). Defined for the unsigned
/// types of 1, 2, 4 and 8 bytes; other types are cast to the one of their size.
template <typename T>
void where(const bool* condition, const T* a, const T* b, T* y, const BroadcastPlan<3>& plan,
           const Parallel& par) noexcept;

/// The same for any copyable element such as strings, in one thread.
template <typename T>
void where_serial(const bool* condition, const T* a, const T* b, T* y, const BroadcastPlan<3>& plan) {
  for_runs(plan, 0, plan.count, [&](size_t out, const std::array<size_t, 3>& at, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      y[out + i] = condition[at[0] + i * plan.step(0)] ? a[at[1] + i * plan.step(1)] : b[at[2] + i * plan.step(2)];
    }
  });
}

}  // namespace retort::kernels
