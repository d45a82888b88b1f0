// The conversion of one element, which defines cast().
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/half.h"

namespace retort::kernels {

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// Truncation; NaN and numbers out of range give the smallest number, as cvttss2si does, without undefined behaviour.
template <typename Int, typename Float>
inline Int truncate_or_min(Float x) {
  constexpr Float kLimit = Float(uint64_t(1) << (8 * sizeof(Int) - 1));
  const bool fits = x >= -kLimit && x < kLimit;
  return fits ? Int(fits ? x : Float(0)) : std::numeric_limits<Int>::min();
}

template <typename To, typename From>
inline To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (kIsHalf<From>) {
    return convert<To>(float(x));
  } else if constexpr (kIsHalf<To>) {
    return To(float(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint32_t> || std::is_same_v<To, uint64_t>) {
      using Signed = std::make_signed_t<To>;
      constexpr To kTop = To(1) << (8 * sizeof(To) - 1);
      return x >= From(kTop) ? To(truncate_or_min<Signed>(x - From(kTop))) ^ kTop : To(truncate_or_min<Signed>(x));
    } else if constexpr (std::is_same_v<To, int64_t>) {
      return truncate_or_min<int64_t>(x);
    } else {
      return To(truncate_or_min<int32_t>(x));
    }
  } else {
    return To(x);
  }
}

}  // namespace retort::kernels
