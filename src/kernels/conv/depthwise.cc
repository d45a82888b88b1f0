// Depthwise convolution: every channel has its own filter. A row of Q output pixels of one channel vector stays in
// registers; each input vector is loaded once per kernel row and is used for all outputs that it contributes to.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/finish-inl.h"
#include "kernels/conv/taps.h"
#include "kernels/dispatch.h"
#include "kernels/unaligned.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

// A run of output pixels in one row. `input` is channel 0 of the pixel under the first tap of the first kernel row that
// overlaps the image (that pixel itself may be outside); `rows` kernel rows overlap it, and their input rows are `line`
// floats apart.
struct Run {
  const float* input;
  ptrdiff_t step, line;  // floats from one input pixel or row of taps to the next
  const float* weights;  // of that kernel row, channel vector 0
  size_t rows, vector_weights;
  uint32_t columns_inside;  // bit c: whether input column c of the run is inside the image
  size_t pixel, columns;    // the first output pixel; the number of existing ones
};

// Pixels of a run: enough independent sums to hide the latency of two multiply-adds per cycle, few enough for 16
// registers with a kernel row of 7; divides the widths 7, 14, 28, 56, 112.
constexpr size_t kPixels = 7;

// What a run must check: nothing, its columns, or its columns and channels.
enum class Edge { none, columns, channels };

// Prefetches the input rows from `in` on, which the next output row will be the first to read: maps that do not fit the
// caches are convolved up to 1.5 times as fast.
template <size_t kStride>
HWY_INLINE void prefetch_rows(const float* in, const Run& run) {
#pragma GCC unroll 2
  for (size_t i = 0; i < kStride; ++i, in += run.line) {
#pragma GCC unroll 32
    for (size_t c = 0; c < kPixels * kStride; ++c) hwy::Prefetch(in + ptrdiff_t(c) * run.step);
  }
}

template <size_t kKernel, size_t kStride, Edge kEdge>
HWY_INLINE void convolve_vector(const Run& run, const Finish& finish, size_t channel, size_t n) {
  constexpr size_t kInputs = (kPixels - 1) * kStride + kKernel;
  const FloatTag d;
  if (kEdge != Edge::channels) n = kLanes;
  Float sums[kPixels];
#pragma GCC unroll 32
  for (size_t q = 0; q < kPixels; ++q) sums[q] = hn::Zero(d);
  const float* in = run.input + channel;
  const float* weights = run.weights + channel * run.vector_weights;
  for (size_t i = 0; i < run.rows; ++i, in += run.line, weights += kKernel * kLanes) {
    Float w[kKernel];
#pragma GCC unroll 32
    for (size_t j = 0; j < kKernel; ++j) w[j] = hn::LoadU(d, weights + j * kLanes);
#pragma GCC unroll 32
    for (size_t c = 0; c < kInputs; ++c) {
      if (kEdge != Edge::none && !(run.columns_inside & 1u << c)) continue;
      const float* at = in + ptrdiff_t(c) * run.step;
      const Float v = kEdge == Edge::channels ? load_first(at, n) : load_once(at);
#pragma GCC unroll 32
      for (size_t j = c % kStride; j < kKernel; j += kStride) {
        if (c >= j && (c - j) / kStride < kPixels) {
          sums[(c - j) / kStride] = hn::MulAdd(w[j], v, sums[(c - j) / kStride]);
        }
      }
    }
  }
  if (kEdge != Edge::channels) prefetch_rows<kStride>(in, run);
  const OutputTile tile{run.pixel, 0, 1, kEdge == Edge::none ? kPixels : run.columns, channel, n};
  if constexpr (kEdge == Edge::channels) {
    finish.store_rarely<1, kPixels>(sums, tile);
  } else {
    finish.store<1, kPixels>(sums, tile);
  }
}

// Computes channels [c0, c1). The copies keep the geometry in registers: the compiler must assume that a store of a
// vector changes it in memory.
template <size_t kKernel, size_t kStride>
HWY_INLINE void convolve_run(const Run& shared_run, const Finish& shared_finish, size_t c0, size_t c1) {
  constexpr uint32_t kAll = (1u << ((kPixels - 1) * kStride + kKernel)) - 1;
  const Run run = shared_run;
  const Finish finish = shared_finish;
  size_t c = c0;
  if (run.columns_inside == kAll && run.columns >= kPixels) {
    for (; c + kLanes <= c1; c += kLanes) convolve_vector<kKernel, kStride, Edge::none>(run, finish, c, kLanes);
  } else {
    for (; c + kLanes <= c1; c += kLanes) convolve_vector<kKernel, kStride, Edge::columns>(run, finish, c, kLanes);
  }
  if (c < c1) convolve_vector<kKernel, kStride, Edge::channels>(run, finish, c, c1 - c);
}

// For any kernel width, stride and dilation: one tap of one pixel at a time. x is the input column of the first tap of
// the first pixel.
void convolve_run_any(const ConvShape& s, const Run& run, ptrdiff_t x, const Finish& finish, size_t c0, size_t c1) {
  const FloatTag d;
  for (size_t c = c0; c < c1; c += kLanes) {
    const size_t n = std::min(kLanes, c1 - c);
    Float sums[kPixels];
#pragma GCC unroll 32
    for (size_t q = 0; q < kPixels; ++q) sums[q] = hn::Zero(d);
    const float* weights = run.weights + c * run.vector_weights;
    for (size_t tap = 0; tap < run.rows * s.kernel_w; ++tap) {
      const ptrdiff_t across = ptrdiff_t(tap % s.kernel_w * s.dilation_w);
      const float* in = run.input + ptrdiff_t(tap / s.kernel_w) * run.line + across * run.step + ptrdiff_t(c);
      const Float w = hn::LoadU(d, weights + tap * kLanes);
#pragma GCC unroll 32
      for (size_t q = 0; q < kPixels; ++q) {
        const ptrdiff_t column = ptrdiff_t(q * s.stride_w);
        if (size_t(x + across + column) >= s.in_w) continue;
        sums[q] = hn::MulAdd(w, load_first(in + column * run.step, n), sums[q]);
      }
    }
    finish.store_rarely<1, kPixels>(sums, {run.pixel, 0, 1, run.columns, c, n});
  }
}

uint32_t columns_inside(ptrdiff_t x, size_t width) {
  uint32_t bits = 0;
  for (ptrdiff_t c = 0; c < 32; ++c) bits |= uint32_t(size_t(x + c) < width) << c;
  return bits;
}

template <size_t kKernel>
HWY_INLINE void convolve_strided(size_t stride, Run& run, const Finish& finish, size_t c0, size_t c1) {
  if (stride == 1) {
    run.columns_inside &= (1u << (kPixels - 1 + kKernel)) - 1;
    convolve_run<kKernel, 1>(run, finish, c0, c1);
  } else {
    run.columns_inside &= (1u << ((kPixels - 1) * 2 + kKernel)) - 1;
    convolve_run<kKernel, 2>(run, finish, c0, c1);
  }
}

}  // namespace

void depthwise_row(const ConvArgs& args, const conv_detail::DepthwiseRow& out) noexcept {
  const ConvShape& s = args.shape;
  const Finish finish(args);
  const size_t kernel = s.dilation_w == 1 && s.stride_w <= 2 ? s.kernel_w : 0;
  Run run;
  run.step = ptrdiff_t(s.in_pixel_stride);
  run.line = ptrdiff_t(s.dilation_h * s.in_w) * run.step;
  run.vector_weights = s.kernel_h * s.kernel_w;
  const ptrdiff_t in_y = ptrdiff_t(out.y * s.stride_h) - ptrdiff_t(s.pad_top);
  const TapRange down = taps_inside(in_y, s.in_h, s.kernel_h, s.dilation_h);
  run.rows = down.last - down.first;
  run.weights = args.packed + down.first * s.kernel_w * kLanes;
  const ptrdiff_t row = ptrdiff_t(out.image * s.in_h) + in_y + ptrdiff_t(down.first * s.dilation_h);
  for (size_t x = 0; x < s.out_w; x += kPixels) {
    const ptrdiff_t in_x = ptrdiff_t(x * s.stride_w) - ptrdiff_t(s.pad_left);
    run.input = args.input + (row * ptrdiff_t(s.in_w) + in_x) * run.step;
    run.columns_inside = columns_inside(in_x, s.in_w);
    run.pixel = (out.image * s.out_h + out.y) * s.out_w + x;
    run.columns = s.out_w - x;
    switch (kernel) {
      case 3:
        convolve_strided<3>(s.stride_w, run, finish, out.c0, out.c1);
        break;
      case 5:
        convolve_strided<5>(s.stride_w, run, finish, out.c0, out.c1);
        break;
      case 7:
        convolve_strided<7>(s.stride_w, run, finish, out.c0, out.c1);
        break;
      default:
        convolve_run_any(s, run, in_x, finish, out.c0, out.c1);
        break;
    }
  }
  finish.activate((out.image * s.out_h + out.y) * s.out_w, s.out_w, out.c0, out.c1);
}

// Packs weights as [channel vector][tap][lane]; the lanes after the last channel are zero.
void depthwise_pack_lanes(const ConvShape& s, const float* weights, float* packed) noexcept {
  const size_t taps = s.kernel_h * s.kernel_w;
  std::memset(packed, 0, conv_detail::depthwise_packed_bytes(s));
  for (size_t c = 0; c < s.out_c; ++c) {
    float* lane = packed + c / kLanes * kLanes * taps + c % kLanes;
    for (size_t t = 0; t < taps; ++t) lane[t * kLanes] = load_unaligned(weights, c * taps + t);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {

size_t depthwise_packed_bytes(const ConvShape& s) {
  return round_up(s.out_c, kMaxLanes) * s.kernel_h * s.kernel_w * sizeof(float);
}

void depthwise_pack(const ConvShape& s, const float* weights, float* packed) noexcept {
  RETORT_SELECT(depthwise_pack_lanes)(s, weights, packed);
}

void conv_depthwise(const ConvArgs& args, const Parallel& par) noexcept {
  // All channels of a pixel are computed before the next pixels, so that memory is read in order; the next output row
  // then finds its input in the second-level cache. Only very wide windows, and maps with few rows, are divided by
  // channels.
  constexpr size_t kWindowBytes = 512 << 10;
  constexpr size_t kFewChannels = 64;
  const ConvShape& s = args.shape;
  const size_t window = ((s.kernel_h - 1) * s.dilation_h + 1) * s.in_w * sizeof(float);
  const size_t fitting = std::max(kWindowBytes / std::max<size_t>(window, 1), kFewChannels);
  const size_t wanted = wanted_tasks(s.out_pixels() * s.out_c * s.kernel_h * s.kernel_w);
  const size_t row_blocks = std::clamp<size_t>(wanted / s.batch, 1, s.out_h);
  const size_t column_cuts =
      std::min(ceil_div(wanted, s.batch * row_blocks), std::max<size_t>(s.out_c / kFewChannels, 1));
  const size_t channels = round_up(ceil_div(s.out_c, std::max(column_cuts, ceil_div(s.out_c, fitting))), kMaxLanes);
  const size_t channel_blocks = ceil_div(s.out_c, channels);
  const size_t rows = ceil_div(s.out_h, row_blocks);
  const auto run = RETORT_SELECT(depthwise_row);
  par.for_each(s.batch * row_blocks * channel_blocks, [&](size_t task, int) {
    DepthwiseRow row;
    row.c0 = task % channel_blocks * channels;
    row.c1 = std::min(row.c0 + channels, s.out_c);
    row.image = task / (channel_blocks * row_blocks);
    row.y = task / channel_blocks % row_blocks * rows;
    const size_t end = std::min(row.y + rows, s.out_h);
    for (; row.y < end && !par.cancelled(); ++row.y) run(args, row);
  });
}

}  // namespace retort::kernels::conv_detail
#endif
