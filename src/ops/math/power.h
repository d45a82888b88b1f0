// x to the power of an exponent.
#pragma once
#include <cmath>

#include "ops/math/arithmetic.h"

namespace retort::ops {

/// For integers: modulo 2^bits, and 0 for negative exponents unless |base| is 1.
template <std::integral T>
T integer_power(T base, T exponent) {
  if constexpr (std::signed_integral<T>) {
    if (exponent < 0) {
      if (base == T(-1)) return exponent % 2 ? T(-1) : T(1);
      return T(base == 1);
    }
  }
  T result = 1;
  for (uint64_t e = uint64_t(exponent); e; e >>= 1, base = wrap_mul(base, base)) {
    if (e & 1) result = wrap_mul(result, base);
  }
  return result;
}

template <typename T>
T power(T base, T exponent) {
  if constexpr (std::integral<T>)
    return integer_power(base, exponent);
  else
    return std::pow(base, exponent);
}

}  // namespace retort::ops
