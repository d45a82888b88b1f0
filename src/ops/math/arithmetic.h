// Scalar arithmetic that is defined for every operand: signed integers wrap around, division by zero gives 0.
#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

#include "base/error.h"

namespace retort::ops {

template <typename T>
T wrap_add(T a, T b) {
  if constexpr (std::integral<T>)
    return T(uint64_t(a) + uint64_t(b));
  else
    return a + b;
}

template <typename T>
T wrap_sub(T a, T b) {
  if constexpr (std::integral<T>)
    return T(uint64_t(a) - uint64_t(b));
  else
    return a - b;
}

template <typename T>
T wrap_mul(T a, T b) {
  if constexpr (std::integral<T>)
    return T(uint64_t(a) * uint64_t(b));
  else
    return a * b;
}

/// Throws if a divisor is the integer 0; division of floats by 0 is defined.
template <typename T>
void check_divisors(std::span<const T> divisors) {
  if constexpr (std::integral<T>) {
    T zeros = 0;
    for (const T d : divisors) zeros |= T(d == 0);  // a vector loop, which has no exit
    require(zeros == 0, ErrorCode::invalid_argument, "integer division by zero: element {} of input B is 0",
            std::find(divisors.begin(), divisors.end(), T(0)) - divisors.begin());
  }
}

/// Division. Integers are rounded towards zero; x / 0 = 0, lowest / -1 = lowest.
template <typename T>
T safe_div(T a, T b) {
  if constexpr (std::integral<T>) {
    if (b == 0) return 0;
    if constexpr (std::signed_integral<T>) {
      if (b == T(-1)) return wrap_sub(T(0), a);
    }
  }
  return a / b;
}

/// The remainder that matches safe_div; x mod 0 = 0.
template <std::integral T>
T safe_rem(T a, T b) {
  return b == 0 ? T(0) : wrap_sub(a, wrap_mul(safe_div(a, b), b));
}

/// Lowest and highest value of a type; infinite for floats.
template <typename T>
constexpr T lowest_of() {
  if constexpr (std::floating_point<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}
template <typename T>
constexpr T highest_of() {
  if constexpr (std::floating_point<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}

}  // namespace retort::ops
