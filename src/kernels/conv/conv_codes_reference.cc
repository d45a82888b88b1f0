#include <algorithm>
#include <cmath>

#include "kernels/conv/conv_codes.h"

namespace retort::kernels {
namespace {

int32_t code(uint8_t byte, bool is_signed) { return is_signed ? int8_t(byte) : byte; }

/// Position of a channel of an image.
size_t element(const ConvShape& s, size_t b, size_t row, size_t column, size_t channel) {
  if (s.input_is_nchw) return ((b * s.in_c + channel) * s.in_h + row) * s.in_w + column;
  return ((b * s.in_h + row) * s.in_w + column) * s.in_pixel_stride + channel;
}

/// What lies under channel `o` of pixel `p` of the result: element k is channel k % depth of tap k / depth.
struct Patch {
  const ConvCodesArgs& a;
  size_t p, o, depth, count;
  Patch(const ConvCodesArgs& args, size_t pixel, size_t channel)
      : a(args),
        p(pixel),
        o(channel),
        depth(a.shape.in_c / a.shape.groups),
        count(depth * a.shape.kernel_h * a.shape.kernel_w) {}
  int32_t pixel(size_t k) const {
    const ConvShape& s = a.shape;
    const size_t x = p % s.out_w, y = p / s.out_w % s.out_h, b = p / s.out_w / s.out_h, tap = k / depth;
    const size_t row = y * s.stride_h + tap / s.kernel_w * s.dilation_h - s.pad_top;  // wraps around outside
    const size_t column = x * s.stride_w + tap % s.kernel_w * s.dilation_w - s.pad_left;
    if (row >= s.in_h || column >= s.in_w) return code(a.input_zero, a.shape.input_signed);
    const size_t channel = o / (s.out_c / s.groups) * depth + k % depth;
    return code(a.input[element(s, b, row, column, channel)], a.shape.input_signed);
  }
  int32_t weight(size_t k) const {
    const size_t taps = a.shape.kernel_h * a.shape.kernel_w;
    return a.packed[(o * depth + k % depth) * taps + k / depth] - a.shape.filter_zero;
  }
  /// The product of the codes, those of the pixel unsigned.
  int32_t unsigned_product(size_t k) const {
    return k < count ? (pixel(k) + (a.shape.input_signed ? 128 : 0)) * weight(k) : 0;
  }
};

/// What saturation adds to the sum of the products.
uint32_t saturation(const Patch& patch) {
  uint32_t change = 0;
  for (size_t k = 0; k < patch.count; k += 2) {
    const int32_t pair = patch.unsigned_product(k) + patch.unsigned_product(k + 1);
    change += uint32_t(std::clamp(pair, INT16_MIN, INT16_MAX) - pair);
  }
  return change;
}

/// The sum for channel `o` of pixel `p` of the result.
int32_t sum_at(const ConvCodesArgs& a, size_t p, size_t o) {
  const CodesConvShape& s = a.shape;
  const size_t x = p % s.out_w, y = p / s.out_w % s.out_h, b = p / s.out_w / s.out_h;
  const size_t depth = s.in_c / s.groups, first = o / (s.out_c / s.groups) * depth;
  const int32_t zero = code(a.input_zero, a.shape.input_signed);
  uint32_t sum = uint32_t(a.bias[o]) + (s.saturates() ? saturation(Patch(a, p, o)) : 0);
  for (size_t tap = 0; tap < s.kernel_h * s.kernel_w; ++tap) {
    const size_t row = y * s.stride_h + tap / s.kernel_w * s.dilation_h - s.pad_top;  // wraps around outside
    const size_t column = x * s.stride_w + tap % s.kernel_w * s.dilation_w - s.pad_left;
    if (row >= s.in_h || column >= s.in_w) continue;
    for (size_t c = 0; c < depth; ++c) {
      const int32_t in = code(a.input[element(s, b, row, column, first + c)], a.shape.input_signed);
      const int32_t weight = a.packed[(o * depth + c) * s.kernel_h * s.kernel_w + tap] - s.filter_zero;
      sum += uint32_t((in - zero) * weight);
    }
  }
  return int32_t(sum);
}

/// The code of a number; NaN becomes the smallest.
uint8_t code_of(float x, bool is_signed, int32_t zero) {
  const float low = is_signed ? -128 : 0, high = low + 255, whole = std::nearbyint(x) + float(zero);
  return uint8_t(int32_t(!(whole > low) ? low : std::min(whole, high)));
}

/// The code of the sum of a result and that of the other image.
uint8_t sum_with(const CodesResidual& r, uint8_t other, float own) {
  const float sum = own + float(code(other, r.other.is_signed) - r.other.zero) * r.other.scale;
  return code_of(sum / r.sum.scale, r.sum.is_signed, r.sum.zero);
}

void store_wide(const ConvCodesArgs& a, size_t p, size_t o) {
  const WideResults& w = a.wide;
  const size_t at = p * a.shape.out_pixel_stride + o;
  if (!w.scale) return void(static_cast<int32_t*>(w.data)[at] = sum_at(a, p, o));
  float y = float(sum_at(a, p, o)) * w.scale[o];
  if (w.epilogue.bias) y += w.epilogue.bias[o];
  if (w.epilogue.residual) y += w.epilogue.residual[p * w.epilogue.residual_stride + o];
  const Epilogue activation{.bias = &y, .activation = w.epilogue.activation};
  gemm_reference(1, 1, 0, nullptr, 0, nullptr, 0, 0, static_cast<float*>(w.data) + at, 1, activation);
}

}  // namespace

void conv_codes_reference(const ConvCodesArgs& a) noexcept {
  const ConvShape& s = a.shape;
  const auto* other = static_cast<const uint8_t*>(a.residual.other.codes);
  for (size_t p = 0; p < s.out_pixels(); ++p) {
    for (size_t o = 0; o < s.out_c; ++o) {
      if (a.wide.data) {
        store_wide(a, p, o);
        continue;
      }
      const float scaled = float(sum_at(a, p, o)) * a.scale[o] + a.offset[o];
      uint8_t y = code_of(scaled, a.output_signed, a.output_zero);
      if (other) {
        const float own = float(code(y, a.output_signed) - a.output_zero) * a.residual.scale;
        y = sum_with(a.residual, other[p * a.residual.pixel_stride + o], own);
      }
      a.output[p * s.out_pixel_stride + o] = y;
    }
  }
}

}  // namespace retort::kernels
