// The largest and the smallest element over axes: two operators.
#pragma once

#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"
#include "tensor/dtype.h"

namespace retort::ops {

/// Lowest and highest value of `type` (infinite for floats), as its carrier T: the results of a maximum and a minimum
/// over no elements.
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

/// NaN if there is one. Of nothing: the other end of the element type.
template <bool kLargest>
struct ReduceExtreme : Reduce<ReduceExtreme<kLargest>> {
  static constexpr kernels::Reduce kernel = kLargest ? kernels::Reduce::max : kernels::Reduce::min;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    T best = kLargest ? T(lowest_of(values.type, T{})) : T(highest_of(values.type, T{}));
    for (size_t i = 0; i < values.size(); ++i) {
      const T v = values[i];
      if ((kLargest ? v > best : v < best) || v != v) best = v;
      if (best != best) break;
    }
    return best;
  }
  static std::optional<Dim> symbolic(DimTable& d, std::span<const Dim> x) {
    if (x.empty()) return std::nullopt;
    Dim best = x[0];
    for (Dim v : x) best = kLargest ? d.max(best, v) : d.min(best, v);
    return best;
  }
};

}  // namespace retort::ops
