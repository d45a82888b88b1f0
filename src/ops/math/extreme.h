// The smallest and largest value of an element type, as its carrier: the results of a maximum and a minimum over no
// elements.
#pragma once
#include <type_traits>

#include "ops/math/arithmetic.h"
#include "tensor/dtype.h"

namespace retort::ops {

/// Lowest and highest value of `type` (infinite for floats), as its carrier T.
template <typename T>
T lowest_of(DType type, T) {
  if constexpr (std::signed_integral<T>) return T(lowest_of<int64_t>() >> (64 - dtype_bits(type)));
  return lowest_of<T>();
}
template <typename T>
T highest_of(DType type, T) {
  if (type == DType::boolean) return T(1);
  if constexpr (std::integral<T>) return T(highest_of<T>() >> (64 - dtype_bits(type)));
  return highest_of<T>();
}

}  // namespace retort::ops
