// Powers of integers.
#pragma once
#include "ops/math/arithmetic.h"

namespace retort::ops {

/// Modulo 2^bits of the base, and 0 for negative exponents unless |base| is 1.
template <std::integral T, std::integral E>
T integer_power(T base, E exponent) {
  if constexpr (std::signed_integral<E>) {
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

}  // namespace retort::ops
