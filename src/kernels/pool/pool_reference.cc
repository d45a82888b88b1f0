#include <cmath>
#include <limits>

#include "kernels/pool/pool.h"

namespace retort::kernels {
namespace {

// The state of one window.
struct Window {
  double sum = 0;
  float largest = -std::numeric_limits<float>::infinity();
  size_t inside = 0, padded = 0;  // number of taps in the image, and in the padded image

  void add(float v) {
    sum += double(v);
    if (std::isnan(v) || v > largest) largest = std::isnan(largest) ? largest : v;
    ++inside;
  }
  float result(PoolKind kind) const {
    if (kind == PoolKind::max) return largest;
    const size_t count = kind == PoolKind::average ? inside : padded;
    return count ? float(sum / double(count)) : 0.0f;
  }
};

}  // namespace

void pool_reference(const PoolArgs& args, bool nchw) noexcept {
  const PoolShape& s = args.shape;
  const auto at = [nchw](size_t b, size_t c, size_t channels, size_t pixels, size_t pixel, size_t stride) {
    return nchw ? (b * channels + c) * pixels + pixel : (b * pixels + pixel) * stride + c;
  };
  const size_t out_pixels = s.out_d * s.out_h * s.out_w, in_pixels = s.in_d * s.in_h * s.in_w;
  for (size_t i = 0; i < s.batch * out_pixels * s.channels; ++i) {
    const size_t c = i % s.channels, x = i / s.channels % s.out_w, y = i / s.channels / s.out_w % s.out_h;
    const size_t z = i / s.channels / s.out_w / s.out_h % s.out_d, b = i / s.channels / out_pixels;
    Window window;
    for (size_t tap = 0; tap < s.kernel_d * s.kernel_h * s.kernel_w; ++tap) {
      const size_t padded_z = z * s.stride_d + tap / s.kernel_w / s.kernel_h * s.dilation_d;
      const size_t padded_y = y * s.stride_h + tap / s.kernel_w % s.kernel_h * s.dilation_h;
      const size_t padded_x = x * s.stride_w + tap % s.kernel_w * s.dilation_w;
      if (padded_z >= s.pad_front + s.in_d + s.pad_back) continue;
      if (padded_y >= s.pad_top + s.in_h + s.pad_bottom || padded_x >= s.pad_left + s.in_w + s.pad_right) continue;
      ++window.padded;
      const size_t in_z = padded_z - s.pad_front, in_y = padded_y - s.pad_top,
                   in_x = padded_x - s.pad_left;  // wrap around before, above and left of the image
      if (in_z >= s.in_d || in_y >= s.in_h || in_x >= s.in_w) continue;
      const size_t pixel = (in_z * s.in_h + in_y) * s.in_w + in_x;
      window.add(args.input[at(b, c, s.channels, in_pixels, pixel, s.in_pixel_stride)]);
    }
    args.output[at(b, c, s.channels, out_pixels, (z * s.out_h + y) * s.out_w + x, s.out_pixel_stride)] =
        window.result(args.kind);
  }
}

void global_average_reference(const GlobalAverageArgs& args) noexcept {
  for (size_t b = 0; b < args.batch; ++b) {
    for (size_t c = 0; c < args.channels; ++c) {
      double sum = 0;
      for (size_t p = 0; p < args.pixels; ++p)
        sum += double(args.input[(b * args.pixels + p) * args.in_pixel_stride + c]);
      args.output[b * args.out_stride + c] = float(sum / double(args.pixels));
    }
  }
}

}  // namespace retort::kernels
