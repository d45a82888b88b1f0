// 8-bit codes for real numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace retort::kernels {

/// Scale and zero point advance with the elements (step 1) or are repeated (0).
template <typename T>
struct QuantizeRun {
  const float* x;
  const float* scale;
  const int32_t* zero;
  size_t step;
  T* y;
  size_t n;
};

/// y = x / scale, rounded half to even, + zero, clamped to the range of T; NaN becomes the smallest code. Serial.
void quantize(const QuantizeRun<uint8_t>& run) noexcept;
void quantize(const QuantizeRun<int8_t>& run) noexcept;

/// The smallest and the largest of 0 and n numbers, ignoring NaN. Serial.
std::pair<float, float> range_with_zero(const float* x, size_t n) noexcept;

}  // namespace retort::kernels
