#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"

namespace retort::kernels::conv_detail {
namespace {

// Whether multiplying a patch takes about as long as gathering it, and neighbouring patches overlap by at least a half,
// so that most inputs of a gathered one would be copies. On Sapphire Rapids, one thread, 3x3 from 8 channels to 8 takes
// 0.47 times as long as gathered at AVX-512, 0.43 to 0.52 at AVX2, 0.65 at x86-64-v2; from 8 to 16 0.39, 0.53, 0.64;
// from 32 to 8 0.84, 0.67, 0.67.
bool has_few_outputs(const ConvShape& s) {
  constexpr size_t kMostChannels = 32;  // the most that were measured
  constexpr size_t kWinograd = 16;      // channels from which on Winograd saves more
  return s.out_c <= gemm_panel_width() && (s.out_c < kWinograd || s.in_c < kWinograd) && s.in_c <= kMostChannels;
}

// Whether dot products take fewer steps, by a fifth, than sums of a pixel's channels, whose lanes after out_c are empty.
bool suits_dots(const ConvShape& s, const LinesPlan& p) {
  constexpr size_t kMostOutputs = 4;
  constexpr size_t kLast = 6;  // steps to add the lanes of a sum, and to store it
  return s.out_c > 0 && s.out_c <= kMostOutputs &&
         5 * p.outputs * (p.lines * ceil_div(p.run, p.lanes) + kLast) < 4 * p.lines * p.run;
}

// Whether neighbouring pixels have neighbouring inputs, and vectors of channels would be almost empty.
bool suits_pixels(const ConvShape& s) {
  constexpr size_t kMostOutputs = 4;
  return s.stride_w == 1 && (s.in_c == 1 || s.input_is_nchw) && s.out_c <= kMostOutputs;
}

}  // namespace

bool suits_lines(const ConvShape& s) {
  constexpr size_t kFewChannels = 4;
  constexpr size_t kLongStep = 8;  // with longer steps, patches overlap little and are long, so gathering is cheap
  const size_t step = s.stride_w * (s.input_is_nchw ? 1 : s.in_c);
  const bool pixels = suits_pixels(s);
  const size_t reach = (s.kernel_w - 1) * s.dilation_w + 1;
  if (s.pad_left >= (pixels ? reach : s.kernel_w)) return false;  // also if the first tap is after the first input
  if (s.groups > 1 || (!pixels && s.dilation_w > 1) || s.scaled_input ||
      (!s.input_is_nchw && s.in_pixel_stride != s.in_c))
    return false;
  if (s.in_c <= kFewChannels && step <= kLongStep) return true;
  return !s.input_is_nchw && 2 * s.stride_w <= s.kernel_w && (has_few_outputs(s) || plan_lines(s).dots);
}

LinesPlan plan_lines(const ConvShape& s) {
  const size_t channels = s.input_is_nchw ? 1 : s.in_c;
  LinesPlan p;
  p.width = gemm_panel_width();
  p.lanes = p.width / 2;
  p.lines = s.kernel_h * (s.input_is_nchw ? s.in_c : 1);
  p.run = s.kernel_w * channels;
  p.step = s.stride_w * channels;
  p.pixels = suits_pixels(s);
  if (p.pixels) p.tap = s.dilation_w;
  // Those of the last pixel of a tile are read.
  const size_t vectors = p.pixels ? (s.kernel_w - 1) * p.tap + p.lanes : round_up(p.run, p.lanes);
  p.line_floats = spread_stride((s.out_w + kMostTilePixels) * p.step + std::max(vectors, s.pad_left * channels));
  p.outputs = s.out_c <= 2 ? s.out_c : 4;
  p.dots = !p.pixels && suits_dots(s, p);
  p.weight_floats = p.dots ? p.lines * ceil_div(p.run, p.lanes) * p.outputs * p.lanes : 0;
  p.head_bytes = round_up(p.lines * sizeof(float*) + s.kernel_h * sizeof(size_t), 64);
  p.worker_bytes = round_up(p.head_bytes + (p.weight_floats + p.lines * p.line_floats) * sizeof(float), 128);
  return p;
}

}  // namespace retort::kernels::conv_detail
