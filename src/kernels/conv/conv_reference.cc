#include "kernels/conv/conv.h"

namespace retort::kernels {
namespace {

// Coordinates wrap around: one left of or above the image is larger than its extent.
double sum_at(const ConvArgs& args, const float* weights, size_t pixel, size_t o) {
  const ConvShape& s = args.shape;
  const size_t group_in = s.in_c / s.groups, first = o / (s.out_c / s.groups) * group_in;
  const size_t b = pixel / (s.out_w * s.out_h);
  const size_t y0 = pixel / s.out_w % s.out_h * s.stride_h - s.pad_top;
  const size_t x0 = pixel % s.out_w * s.stride_w - s.pad_left;
  const size_t step = s.input_is_nchw ? 1 : s.in_pixel_stride;  // to the next pixel
  const float* w = weights + o * group_in * s.kernel_h * s.kernel_w;
  double sum = 0;
  for (size_t c = first; c < first + group_in; ++c) {
    const float* image =
        args.input + (s.input_is_nchw ? (b * s.in_c + c) * s.in_h * s.in_w : b * s.in_h * s.in_w * step + c);
    const float scale = args.input_scale ? args.input_scale[b * s.in_c + c] : 1.0f;
    for (size_t i = 0, y = y0; i < s.kernel_h; ++i, y += s.dilation_h) {
      for (size_t j = 0, x = x0; j < s.kernel_w; ++j, x += s.dilation_w) {
        const bool inside = y < s.in_h && x < s.in_w;
        sum += double(*w++) * double(inside ? image[(y * s.in_w + x) * step] * scale : 0.0f);
      }
    }
  }
  return sum;
}

}  // namespace

void conv_reference(const ConvArgs& args, const float* weights) noexcept {
  const ConvShape& s = args.shape;
  const Epilogue& e = args.epilogue;
  for (size_t p = 0; p < s.out_pixels(); ++p) {
    for (size_t o = 0; o < s.out_c; ++o) {
      double sum = sum_at(args, weights, p, o);
      if (e.bias) sum += double(e.bias[o]);
      if (e.residual) sum += double(e.residual[p * e.residual_stride + o]);
      const float value = float(sum);
      const Epilogue activation{.bias = &value, .activation = e.activation};
      gemm_reference(1, 1, 0, nullptr, 0, nullptr, 0, 0, args.output + p * s.out_pixel_stride + o, 1, activation);
    }
  }
}

}  // namespace retort::kernels
