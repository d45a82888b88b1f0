// Pooling in single precision over one or two spatial dimensions (1-D: height 1), channels last (NHWC, with pixel
// strides as in kernels/conv/conv.h) or channels first (NCHW, dense; also over three dimensions). Sums have one fixed
// order, so results have the same bits for any number of threads. Thread-safe, no allocation; the caller must have
// checked the shape.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/parallel.h"

namespace retort::kernels {

enum class PoolKind : uint8_t {
  max,      ///< NaN wins; -inf for a window that is entirely in the padding
  average,  ///< over the taps inside the image; 0 for a window that has none
  /// Over the taps inside the padded image: windows of the ceiling mode may extend even beyond that.
  average_include_pad,
};

/// One spatial dimension: the extents of the image and of the result, and the window.
struct PoolAxis {
  size_t in = 1, out = 1;
  size_t kernel = 1, stride = 1, dilation = 1;
  size_t pad_begin = 0, pad_end = 0;

  size_t padded() const { return pad_begin + in + pad_end; }
  /// Pixels from the first to the last tap of a window, with both.
  size_t reach() const { return (kernel - 1) * dilation + 1; }
};

struct PoolShape {
  size_t batch = 1, channels = 1;
  PoolAxis height, width;
  PoolAxis depth;                                    ///< outside of the height; only for NCHW
  size_t in_pixel_stride = 1, out_pixel_stride = 1;  ///< in floats; not used by the NCHW forms
};

struct PoolArgs {
  PoolShape shape;
  PoolKind kind = PoolKind::max;
  const float* input = nullptr;
  float* output = nullptr;  ///< may not overlap the input
};

void pool_nhwc(const PoolArgs& args, const Parallel& par) noexcept;
void pool_nchw(const PoolArgs& args, const Parallel& par) noexcept;

namespace pool_detail {

/// Pixels whose sums are divided by `divisor`.
struct Pixels {
  const float* input;
  size_t count, stride, divisor;
};

}  // namespace pool_detail

/// The mean of each channel of [batch, pixels, channels]; image b of the output starts at b · out_stride. pixels > 0.
struct GlobalAverageArgs {
  size_t batch = 1, pixels = 1, channels = 1;
  size_t in_pixel_stride = 1, out_stride = 1;
  const float* input = nullptr;
  float* output = nullptr;
};
/// Bytes of scratch (64-byte aligned; if 0, scratch may be null) that global_average_nhwc needs.
size_t global_average_scratch_bytes(size_t batch, size_t pixels, size_t channels);
void global_average_nhwc(const GlobalAverageArgs& args, void* scratch, const Parallel& par) noexcept;
/// The means of `planes` runs of `pixels` floats, one after the other.
void global_average_nchw(const float* input, size_t planes, size_t pixels, float* output, const Parallel& par) noexcept;

/// y[i] = the largest of taps[0][i], taps[1][i], … for n codes; without taps the smallest code. Serial.
void largest_codes(std::span<const uint8_t* const> taps, bool is_signed, size_t n, uint8_t* y) noexcept;

/// The references of the above: plain loops, sums in double.
void pool_reference(const PoolArgs& args, bool nchw) noexcept;
void global_average_reference(const GlobalAverageArgs& args) noexcept;

}  // namespace retort::kernels
