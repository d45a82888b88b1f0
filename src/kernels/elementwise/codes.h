// Codes of 8 and 16 bits for real numbers.
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
void quantize(const QuantizeRun<uint16_t>& run) noexcept;
void quantize(const QuantizeRun<int16_t>& run) noexcept;

/// Codes of 8 bits, all of one scale and zero point: real number = (code - zero) · scale.
struct CodeRun {
  const void* codes = nullptr;
  bool is_signed = false;
  int32_t zero = 0;
  float scale = 1;
};
/// Rows of codes, `stride` bytes apart in each of three tensors.
struct CodeRows {
  size_t rows = 1, columns = 0;
  size_t a_stride = 0, b_stride = 0, y_stride = 0;
};
/// y = codes of the sums of the real numbers of a and b, rounded like those of quantize(). `y.codes` is written, and may
/// be those of a or b. Serial.
void add_codes(const CodeRun& a, const CodeRun& b, const CodeRun& y, CodeRows rows) noexcept;
/// The same for products.
void multiply_codes(const CodeRun& a, const CodeRun& b, const CodeRun& y, CodeRows rows) noexcept;

/// The smallest and the largest of 0 and n numbers, ignoring NaN. Serial.
std::pair<float, float> range_with_zero(const float* x, size_t n) noexcept;

}  // namespace retort::kernels
