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
  const size_t out_pixels = s.depth.out * s.height.out * s.width.out, in_pixels = s.depth.in * s.height.in * s.width.in;
  for (size_t i = 0; i < s.batch * out_pixels * s.channels; ++i) {
    const size_t c = i % s.channels, x = i / s.channels % s.width.out, y = i / s.channels / s.width.out % s.height.out;
    const size_t z = i / s.channels / s.width.out / s.height.out % s.depth.out, b = i / s.channels / out_pixels;
    Window window;
    for (size_t tap = 0; tap < s.depth.kernel * s.height.kernel * s.width.kernel; ++tap) {
      const size_t padded_z = z * s.depth.stride + tap / s.width.kernel / s.height.kernel * s.depth.dilation;
      const size_t padded_y = y * s.height.stride + tap / s.width.kernel % s.height.kernel * s.height.dilation;
      const size_t padded_x = x * s.width.stride + tap % s.width.kernel * s.width.dilation;
      if (padded_z >= s.depth.padded() || padded_y >= s.height.padded() || padded_x >= s.width.padded()) continue;
      ++window.padded;
      const size_t in_z = padded_z - s.depth.pad_begin, in_y = padded_y - s.height.pad_begin,
                   in_x = padded_x - s.width.pad_begin;  // wrap around before, above and left of the image
      if (in_z >= s.depth.in || in_y >= s.height.in || in_x >= s.width.in) continue;
      const size_t pixel = (in_z * s.height.in + in_y) * s.width.in + in_x;
      window.add(args.input[at(b, c, s.channels, in_pixels, pixel, s.in_pixel_stride)]);
    }
    args.output[at(b, c, s.channels, out_pixels, (z * s.height.out + y) * s.width.out + x, s.out_pixel_stride)] =
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
