#include "kernels/conv/conv.h"

namespace retort::kernels {
namespace {

float input_at(const ConvArgs& args, size_t b, size_t y, size_t x, size_t c) {
  const ConvShape& s = args.shape;
  if (y >= s.in_h || x >= s.in_w) return 0.0f;  // coordinates left of or above the image wrap around
  if (s.input_is_nchw) return args.input[((b * s.in_c + c) * s.in_h + y) * s.in_w + x];
  const float value = args.input[((b * s.in_h + y) * s.in_w + x) * s.in_pixel_stride + c];
  return args.input_scale ? value * args.input_scale[b * s.in_c + c] : value;
}

double sum_at(const ConvArgs& args, const float* weights, size_t pixel, size_t o) {
  const ConvShape& s = args.shape;
  const size_t group_in = s.in_c / s.groups, first = o / (s.out_c / s.groups) * group_in;
  const size_t x = pixel % s.out_w, y = pixel / s.out_w % s.out_h, b = pixel / (s.out_w * s.out_h);
  const float* w = weights + o * group_in * s.kernel_h * s.kernel_w;
  double sum = 0;
  for (size_t c = 0; c < group_in; ++c) {
    for (size_t tap = 0; tap < s.kernel_h * s.kernel_w; ++tap) {
      const size_t in_y = y * s.stride_h + tap / s.kernel_w * s.dilation_h - s.pad_top;
      const size_t in_x = x * s.stride_w + tap % s.kernel_w * s.dilation_w - s.pad_left;
      sum += double(*w++) * double(input_at(args, b, in_y, in_x, first + c));
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
