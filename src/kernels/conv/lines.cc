// Direct convolution of an image with few channels, the first of a network, or to few channels. Gathering patches would
// cost as much as multiplying them. Instead, the input lines of one output row are copied with their padding, and each
// step of the sum reads its inputs from there, at a fixed distance from pixel to pixel.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/lines.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/finish-inl.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

// Pixels of a tile: with two vectors of channels each, as many sums as the registers hold.
constexpr size_t kTilePixels = kLanes == 16 ? 14 : kAccumulators / 2;
static_assert(conv_detail::kMostTilePixels >= kTilePixels);

// Copies the padded input lines of output row `row` of the batch, plan.line_floats apart.
void copy_lines(const ConvArgs& args, const conv_detail::LinesPlan& plan, size_t row, float* lines) {
  const ConvShape& s = args.shape;
  const size_t b = row / s.out_h, y = row % s.out_h * s.stride_h;
  const size_t channels = s.input_is_nchw ? 1 : s.in_c;  // of one element of a line
  const size_t before = s.pad_left * channels;
  const size_t copied = std::min(s.in_w * channels, plan.line_floats - before);
  for (size_t l = 0; l < plan.lines; ++l, lines += plan.line_floats) {
    const size_t in_y = y + l % s.kernel_h * s.dilation_h - s.pad_top;  // wraps around above the image
    const size_t plane = s.input_is_nchw ? b * s.in_c + l / s.kernel_h : b;
    std::fill_n(lines, plan.line_floats, 0.0f);
    if (in_y < s.in_h) std::copy_n(args.input + (plane * s.in_h + in_y) * s.in_w * channels, copied, lines + before);
  }
}

// kTilePixels pixels, kVectors vectors of channels, of which tile.channels exist; `lines` is the first input of the
// first pixel.
template <size_t kVectors>
HWY_INLINE void convolve_tile(const conv_detail::LinesPlan& plan, const float* lines, const float* weights,
                              const Finish& finish, const OutputTile& tile) {
  const FloatTag d;
  Float sums[kVectors][kTilePixels];
#pragma GCC unroll 32
  for (size_t i = 0; i < kVectors * kTilePixels; ++i) sums[i / kTilePixels][i % kTilePixels] = hn::Zero(d);
  constexpr size_t kPointers = (kTilePixels + 2) / 3;  // one for three pixels: more would not fit the general registers
  const size_t step = plan.step;
  const float* in[kPointers];
#pragma GCC unroll 32
  for (size_t i = 0; i < kPointers; ++i) in[i] = lines + i * 3 * step;
  for (size_t l = 0; l < plan.lines; ++l) {
    for (size_t k = 0; k < plan.run; ++k, weights += 2 * kLanes) {
      Float w[kVectors];
#pragma GCC unroll 32
      for (size_t v = 0; v < kVectors; ++v) w[v] = hn::Load(d, weights + v * kLanes);
#pragma GCC unroll 32
      for (size_t p = 0; p < kTilePixels; ++p) {
        const Float x = hn::Set(d, in[p / 3][p % 3 * step + k]);
#pragma GCC unroll 32
        for (size_t v = 0; v < kVectors; ++v) sums[v][p] = hn::MulAdd(x, w[v], sums[v][p]);
      }
    }
#pragma GCC unroll 32
    for (size_t i = 0; i < kPointers; ++i) in[i] += plan.line_floats;
  }
#pragma GCC unroll 32
  for (size_t v = 0; v < kVectors; ++v) {
    OutputTile part = tile;
    part.channel += v * kLanes;
    part.channels = std::min(kLanes, tile.channels - v * kLanes);
    finish.store<1, kTilePixels>(sums[v], part);
  }
}

}  // namespace

// Computes one output row of the batch.
void convolve_lines(const ConvArgs& args, const conv_detail::LinesPlan& plan, size_t row, float* lines) noexcept {
  const ConvShape& s = args.shape;
  const Finish finish(args);
  copy_lines(args, plan, row, lines);
  for (size_t c = 0; c < s.out_c; c += 2 * kLanes) {
    const float* weights = args.packed + c * plan.lines * plan.run;
    for (size_t x = 0; x < s.out_w; x += kTilePixels) {
      const OutputTile tile{row * s.out_w + x, 0, 1, s.out_w - x, c, s.out_c - c};
      if (tile.channels > kLanes) {
        convolve_tile<2>(plan, lines + x * plan.step, weights, finish, tile);
      } else {
        convolve_tile<1>(plan, lines + x * plan.step, weights, finish, tile);
      }
    }
  }
  finish.activate(row * s.out_w, s.out_w, 0, s.out_c);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {

namespace {

// Whether multiplying a patch takes about as long as gathering it, and neighbouring patches overlap by at least a half,
// so that most inputs of a gathered one would be copies. On Sapphire Rapids, one thread, 3x3 from 8 channels to 8 takes 0.47 times as long as
// gathered at AVX-512, 0.43 to 0.52 at AVX2, 0.65 at x86-64-v2; from 8 to 16 0.39, 0.53, 0.64; from 32 to 8 0.84, 0.67,
// 0.67.
bool has_few_outputs(const ConvShape& s) {
  constexpr size_t kMostChannels = 32;  // the most that were measured
  constexpr size_t kWinograd = 16;      // channels from which on Winograd saves more
  return s.out_c <= gemm_panel_width() && (s.out_c < kWinograd || s.in_c < kWinograd) && s.in_c <= kMostChannels &&
         2 * s.stride_w <= s.kernel_w && !s.input_is_nchw;
}

}  // namespace

bool suits_lines(const ConvShape& s) {
  constexpr size_t kFewChannels = 4;
  constexpr size_t kLongStep = 8;  // with longer steps, patches overlap little and are long, so gathering is cheap
  const size_t step = s.stride_w * (s.input_is_nchw ? 1 : s.in_c);
  if (s.pad_left >= s.kernel_w) return false;  // also if the first tap is after the first input
  if (s.groups > 1 || s.dilation_w > 1 || s.scaled_input || (!s.input_is_nchw && s.in_pixel_stride != s.in_c))
    return false;
  return (s.in_c <= kFewChannels && step <= kLongStep) || has_few_outputs(s);
}

LinesPlan plan_lines(const ConvShape& s) {
  const size_t channels = s.input_is_nchw ? 1 : s.in_c;
  LinesPlan p;
  p.lines = s.kernel_h * (s.input_is_nchw ? s.in_c : 1);
  p.run = s.kernel_w * channels;
  p.step = s.stride_w * channels;
  p.line_floats = spread_stride((s.out_w + kMostTilePixels) * p.step + std::max(p.run, s.pad_left * channels));
  p.worker_bytes = round_up(p.lines * p.line_floats * sizeof(float), 128);
  return p;
}

void conv_lines(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  const ConvShape& s = args.shape;
  const LinesPlan plan = plan_lines(s);
  const size_t rows = s.batch * s.out_h;
  const size_t task_rows = ceil_div(rows, wanted_tasks(s.out_pixels() * s.out_c * plan.lines * plan.run));
  const auto convolve = RETORT_SELECT(convolve_lines);
  par.for_each(ceil_div(rows, task_rows), [&](size_t task, int worker) {
    float* lines = static_cast<float*>(scratch) + size_t(worker) * plan.worker_bytes / sizeof(float);
    const size_t end = std::min((task + 1) * task_rows, rows);
    for (size_t row = task * task_rows; row < end && !par.cancelled(); ++row) convolve(args, plan, row, lines);
  });
}

}  // namespace retort::kernels::conv_detail
#endif
