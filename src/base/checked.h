// Checked integer arithmetic: sizes from a model or a caller never overflow silently.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/error.h"

namespace retort {

template <typename T>
std::optional<T> try_mul(T a, T b) {
  T r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

/// `what` names the quantity in the error, for example "tensor size".
template <typename T>
T checked_mul(T a, T b, const char* what) {
  T r;
  if (__builtin_mul_overflow(a, b, &r)) fail(ErrorCode::invalid_argument, "{} overflows: {} * {}", what, a, b);
  return r;
}

template <typename T>
T checked_add(T a, T b, const char* what) {
  T r;
  if (__builtin_add_overflow(a, b, &r)) fail(ErrorCode::invalid_argument, "{} overflows: {} + {}", what, a, b);
  return r;
}

/// `value` rounded up to a multiple of `step` (a power of two).
constexpr size_t round_up(size_t value, size_t step) { return (value + step - 1) & ~(step - 1); }

/// a / b rounded up; b > 0.
template <typename T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

}  // namespace retort
