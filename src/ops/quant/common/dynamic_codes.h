// The scale and the zero point of codes that are chosen by the range of the numbers, as by DynamicQuantizeLinear.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/elementwise/codes.h"

namespace retort::ops {

struct DynamicCodes {
  float scale = 1;
  int32_t zero = 0;  ///< from 0 to 255
};
/// The range of n numbers and 0, whatever the number of threads.
inline std::pair<float, float> dynamic_range(const float* x, size_t n, const Parallel& parallel) {
  constexpr size_t kParts = 64;
  const size_t part = std::max(kernels::kChunk, ceil_div(n, kParts));
  if (n <= part) return kernels::range_with_zero(x, n);
  std::array<std::pair<float, float>, kParts> ranges{};
  kernels::for_chunks(
      parallel, n,
      [&](size_t begin, size_t end) { ranges[begin / part] = kernels::range_with_zero(x + begin, end - begin); }, part);
  std::pair<float, float> all{0.0f, 0.0f};
  for (const auto& [low, high] : ranges) all = {std::min(all.first, low), std::max(all.second, high)};
  return all;
}
/// The codes of numbers in a range that includes 0, which is divided into 255 steps.
inline DynamicCodes codes_of_range(float low, float high) {
  const float scale = low == high ? 1.0f : (high - low) / 255.0f;
  if (!(scale < std::numeric_limits<float>::infinity())) return {scale, 0};
  const float zero = std::clamp(-low / scale, 0.0f, 255.0f);  // NaN if the scale of very small numbers is 0
  return {scale, zero >= 0 ? int32_t(std::nearbyint(zero)) : 0};
}
/// The codes of n numbers.
inline DynamicCodes dynamic_codes(const float* x, size_t n, const Parallel& parallel) {
  const auto [low, high] = dynamic_range(x, n, parallel);
  return codes_of_range(low, high);
}

}  // namespace retort::ops
