// Depthwise convolution: every channel has its own filter. A tile of output pixels of one channel vector stays in
// registers; each input vector is loaded once per input row and is used for all outputs that it contributes to.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/finish-inl.h"
#include "kernels/conv/taps.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

// A run of output pixels in one row, or in two. `input` is channel 0 of the pixel under the first tap of the first input
// row inside the image (that pixel itself may be outside). Input row i of the window has tap row i of the first output
// row, and tap row i - 1 of the second.
struct Run {
  const float* input;
  ptrdiff_t step, line;  // floats from one input pixel or row of taps to the next
  const float* weights;  // tap row 0, channel vector 0
  size_t vector_weights;
  TapRange inside;          // the input rows of the window that are inside the image
  uint32_t columns_inside;  // bit c: whether input column c of the run is inside the image
  size_t pixel, out_line;   // the first output pixel; pixels from one output row to the next
  size_t rows, columns;     // the number of output rows, and of existing pixels in each
  bool prefetches;          // also at the edges; small images are near
};

// Pixels of a run: enough independent sums to hide the latency of two multiply-adds per cycle, few enough for 16
// registers with a kernel row of 7; divides the widths 7, 14, 28, 56, 112.
constexpr size_t kPixels = 7;

// Output rows of a tile with stride 1. Two share all input rows but two, so that a third of the loads from the first-
// level cache is saved; with 16 registers they would not fit. Images that come from memory are read row by row: up to
// 1.3 times as fast, because processors prefetch fewer streams.
constexpr size_t kMostRows = kLanes == 16 ? 2 : 1;

// Whether masked loads are as fast as others, so that the last channels need no copy.
constexpr bool kFastMasks = HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86;

// The input columns of a run at an edge of the image, or of `n` last channels. Nothing outside the image is read, not
// even with an empty mask: it may be in no page, and processors take hundreds of cycles to notice.
class EdgeColumns {
 public:
  EdgeColumns(uint32_t inside, size_t n) : inside_(inside), n_(n) {}
  HWY_INLINE bool has(size_t c) const { return inside_ >> c & 1; }
  HWY_INLINE Float load(const float* at) const {
    if constexpr (kFastMasks) return hn::MaskedLoad(hn::FirstN(FloatTag(), n_), FloatTag(), at);
    return hn::LoadU(FloatTag(), at);
  }

 private:
  uint32_t inside_;
  size_t n_;
};

// The same for runs whose inputs all exist.
struct InnerColumns {
  HWY_INLINE bool has(size_t) const { return true; }
  HWY_INLINE Float load(const float* at) const { return load_once(at); }
};

// The sums of a tile.
template <size_t kKernel, size_t kStride, size_t kRows>
struct Tile {
  static constexpr size_t kInputs = (kPixels - 1) * kStride + kKernel;
  Float sums[kRows * kPixels];

  // Adds one input row to those output rows of [kFirst, kLast) that it has taps of. `weights` are its taps of output
  // row 0.
  template <size_t kFirst, size_t kLast, class Columns>
  HWY_INLINE void add_row(const float* in, ptrdiff_t step, const float* weights, const Columns& columns) {
    const FloatTag d;
    Float w[kLast - kFirst][kKernel];
#pragma GCC unroll 32
    for (size_t r = kFirst; r < kLast; ++r) {
#pragma GCC unroll 32
      for (size_t j = 0; j < kKernel; ++j) {
        w[r - kFirst][j] = hn::LoadU(d, weights + ptrdiff_t(j * kLanes) - ptrdiff_t(r * kKernel * kLanes));
      }
    }
#pragma GCC unroll 32
    for (size_t c = 0; c < kInputs; ++c) {
      const float* const at = in + ptrdiff_t(c % 3) * step;
      if (c % 3 == 2) in += 3 * step;  // so that a few registers address all columns
      if (!columns.has(c)) continue;
      const Float v = columns.load(at);
#pragma GCC unroll 32
      for (size_t r = kFirst; r < kLast; ++r) {
#pragma GCC unroll 32
        for (size_t j = c % kStride; j < kKernel; j += kStride) {
          if (c < j || (c - j) / kStride >= kPixels) continue;
          Float& sum = sums[r * kPixels + (c - j) / kStride];
          sum = hn::MulAdd(w[r - kFirst][j], v, sum);
        }
      }
    }
  }

  // Adds all input rows of a window. `in` and `weights` are those of the run at the tile's channels. Returns the row
  // after the window.
  template <class Columns>
  HWY_INLINE const float* add_window(const float* in, const float* weights, const Run& run, const Columns& columns) {
    constexpr size_t kRowWeights = kKernel * kLanes;
#pragma GCC unroll 32
    for (Float& sum : sums) sum = hn::Zero(FloatTag());
    size_t i = run.inside.first;
    weights += i * kRowWeights;
    if constexpr (kRows == 1) {
      for (; i < run.inside.last; ++i, in += run.line, weights += kRowWeights) {
        add_row<0, 1>(in, run.step, weights, columns);
      }
    } else {
      static_assert(kRows == 2);
      const size_t kernel_rows = run.vector_weights / kKernel, both = std::min(run.inside.last, kernel_rows);
      if (i == 0 && both > 0) {
        add_row<0, 1>(in, run.step, weights, columns);
        ++i, in += run.line, weights += kRowWeights;
      }
      for (; i < both; ++i, in += run.line, weights += kRowWeights) add_row<0, 2>(in, run.step, weights, columns);
      if (i < run.inside.last) {
        add_row<1, 2>(in, run.step, weights, columns);
        in += run.line;
      }
    }
    return in;
  }
};

// Prefetches the input rows from `in` on, which the next output rows will be the first to read: maps that do not fit the
// caches are convolved up to 1.5 times as fast.
template <size_t kStride, size_t kRows>
HWY_INLINE void prefetch_rows(const float* in, const Run& run) {
#pragma GCC unroll 2
  for (size_t i = 0; i < kStride * kRows; ++i, in += run.line) {
#pragma GCC unroll 32
    for (size_t c = 0; c < kPixels * kStride; ++c) hwy::Prefetch(in + ptrdiff_t(c) * run.step);
  }
}

// The same for all channels of a run at an edge. Not part of its loop over channels, which needs all registers.
template <size_t kStride, size_t kRows>
HWY_NOINLINE void prefetch_edge(const Run& shared_run, size_t c0, size_t c1) {
  const Run run = shared_run;
  const float* const after = run.input + ptrdiff_t(run.inside.count()) * run.line;
  for (size_t c = c0; c < c1; c += 64 / sizeof(float)) prefetch_rows<kStride, kRows>(after + c, run);
}

// Computes channels [c0, c1), a multiple of a vector, of a run whose pixels and inputs all exist. The copies keep the
// geometry in registers: the compiler must assume that a store of a vector changes it in memory.
template <size_t kKernel, size_t kStride, size_t kRows>
HWY_NOINLINE void convolve_inner(const Run& shared_run, const Finish& shared_finish, size_t c0, size_t c1) {
  const Run run = shared_run;
  const Finish finish = shared_finish;
  for (size_t c = c0; c < c1; c += kLanes) {
    Tile<kKernel, kStride, kRows> tile;
    const float* after = tile.add_window(run.input + c, run.weights + c * run.vector_weights, run, InnerColumns());
    if (c * sizeof(float) % 64 == 0) prefetch_rows<kStride, kRows>(after, run);
    finish.template store<kRows, kPixels>(tile.sums, {run.pixel, run.out_line, kRows, kPixels, c, kLanes});
  }
}

// The same for any run, and with kFastMasks for any channels. Otherwise whole vectors of input must be readable.
template <size_t kKernel, size_t kStride, size_t kRows>
HWY_NOINLINE void convolve_edge(const Run& shared_run, const Finish& shared_finish, size_t c0, size_t c1) {
  const Run run = shared_run;
  const Finish finish = shared_finish;
  for (size_t c = c0; c < c1; c += kLanes) {
    const size_t n = std::min(kLanes, c1 - c);
    Tile<kKernel, kStride, kRows> tile;
    tile.add_window(run.input + c, run.weights + c * run.vector_weights, run, EdgeColumns(run.columns_inside, n));
    // Constant channels, where they are, spare every store a test.
    const OutputTile whole{run.pixel, run.out_line, kRows, run.columns, c, kFastMasks ? n : kLanes};
    if (kFastMasks || n == kLanes) {
      finish.template store<kRows, kPixels>(tile.sums, whole);
    } else {
      finish.template store_rarely<kRows, kPixels>(tile.sums, {run.pixel, run.out_line, kRows, run.columns, c, n});
    }
  }
}

using ConvolveFunction = void (*)(const Run&, const Finish&, size_t, size_t);

// The largest window that convolve_tail() copies.
constexpr size_t kMostTailRows = 8, kMostTailColumns = (kPixels - 1) * 2 + 7;

// The last channels [c0, c1), fewer than a vector, without fast masks: copies the `columns` inputs of a run to whole
// vectors.
HWY_NOINLINE void convolve_tail(const Run& run, const Finish& finish, size_t c0, size_t c1, size_t columns,
                                ConvolveFunction convolve) {
  HWY_ALIGN float copy[kMostTailRows * kMostTailColumns * kLanes];
  const ptrdiff_t step = run.step;
  const size_t n = c1 - c0;
  const TapRange inside{size_t(std::countr_zero(run.columns_inside)),
                        std::min(columns, 32 - size_t(std::countl_zero(run.columns_inside)))};
  for (size_t i = 0; i < run.inside.count(); ++i) {
    const float* const from = run.input + ptrdiff_t(i) * run.line + c0;
    float* const to = copy + i * columns * kLanes;
    for (size_t c = inside.first; c < inside.last; ++c)
      hn::Store(load_first(from + ptrdiff_t(c) * step, n), FloatTag(), to + c * kLanes);
  }
  Run copied = run;
  // Where channel 0 would be. Only the address is used: no array begins there, so a pointer may not be moved to it.
  copied.input = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(copy) - c0 * sizeof(float));
  copied.step = kLanes;
  copied.line = ptrdiff_t(columns * kLanes);
  convolve(copied, finish, c0, c1);
}

template <size_t kKernel, size_t kStride, size_t kRows>
HWY_INLINE void convolve_run(const Run& run, const Finish& finish, size_t c0, size_t c1) {
  constexpr size_t kInputs = Tile<kKernel, kStride, kRows>::kInputs;
  constexpr uint32_t kAll = (1u << kInputs) - 1;
  constexpr ConvolveFunction kEdge = convolve_edge<kKernel, kStride, kRows>;
  const bool inner = (run.columns_inside & kAll) == kAll && run.columns >= kPixels;
  const size_t whole = kFastMasks && !inner ? c1 : c0 + (c1 - c0) / kLanes * kLanes;
  if (!inner && run.prefetches) prefetch_edge<kStride, kRows>(run, c0, c1);
  if (c0 < whole) (inner ? convolve_inner<kKernel, kStride, kRows> : kEdge)(run, finish, c0, whole);
  if (whole == c1) return;
  kFastMasks ? kEdge(run, finish, whole, c1) : convolve_tail(run, finish, whole, c1, kInputs, kEdge);
}

template <size_t kKernel>
HWY_INLINE void convolve_strided(size_t stride, const Run& run, const Finish& finish, size_t c0, size_t c1) {
  if (stride != 1) return convolve_run<kKernel, 2, 1>(run, finish, c0, c1);
  run.rows == 1 ? convolve_run<kKernel, 1, 1>(run, finish, c0, c1)
                : convolve_run<kKernel, 1, kMostRows>(run, finish, c0, c1);
}

// For any kernel width, stride and dilation: where all inputs exist, several taps at a time if they touch; elsewhere one.
// x is the input column of the first tap of the first pixel.
void convolve_run_any(const ConvShape& s, const Run& run, ptrdiff_t x, const Finish& finish, size_t c0, size_t c1) {
  constexpr size_t kTaps = 4;
  const FloatTag d;
  const ptrdiff_t step = ptrdiff_t(s.stride_w) * run.step, tap = ptrdiff_t(s.dilation_w) * run.step;
  const bool touch = s.stride_w * s.dilation_w == 1;
  for (size_t c = c0; c < c1; c += kLanes) {
    const size_t n = std::min(kLanes, c1 - c);
    Tile<kTaps, 1, 1> tile;
#pragma GCC unroll 32
    for (Float& sum : tile.sums) sum = hn::Zero(d);
    const float* weights = run.weights + c * run.vector_weights + run.inside.first * s.kernel_w * kLanes;
    for (size_t i = 0; i < run.inside.count(); ++i) {
      const float* in = run.input + ptrdiff_t(i) * run.line + ptrdiff_t(c);
      ptrdiff_t column = x;  // of the tap of the first pixel
      size_t j = 0;
      while (j < s.kernel_w) {
        if (touch && n == kLanes && j + kTaps <= s.kernel_w && column >= 0 && size_t(column) + tile.kInputs <= s.in_w) {
          tile.template add_row<0, 1>(in, run.step, weights, InnerColumns());
          in += ptrdiff_t(kTaps) * tap, column += ptrdiff_t(kTaps), weights += kTaps * kLanes, j += kTaps;
          continue;
        }
        const Float w = hn::LoadU(d, weights);
#pragma GCC unroll 32
        for (size_t q = 0; q < kPixels; ++q) {
          if (size_t(column + ptrdiff_t(q * s.stride_w)) >= s.in_w) continue;
          tile.sums[q] = hn::MulAdd(w, load_first(in + ptrdiff_t(q) * step, n), tile.sums[q]);
        }
        in += tap, column += ptrdiff_t(s.dilation_w), weights += kLanes, ++j;
      }
    }
    finish.store_rarely<1, kPixels>(tile.sums, {run.pixel, 0, 1, run.columns, c, n});
  }
}

uint32_t columns_inside(ptrdiff_t x, size_t width) {
  const TapRange inside = taps_inside(x, width, 32, 1);
  return uint32_t((uint64_t(1) << inside.last) - (uint64_t(1) << inside.first));
}

// Whether a kernel's columns have functions of their own.
bool is_usual(const ConvShape& s, const conv_detail::DepthwisePart& part) {
  const bool copies = !kFastMasks && (part.c1 - part.c0) % kLanes != 0;
  return s.dilation_w == 1 && s.stride_w <= 2 && !(copies && s.kernel_h > kMostTailRows);
}

// Computes the outputs of one or more rows, of which `run` has what all columns share. `input` is column 0 of the first
// input row.
HWY_NOINLINE void convolve_columns(const ConvShape& s, Run run, const float* input, const Finish& finish,
                                   const conv_detail::DepthwisePart& part) {
  const size_t kernel = is_usual(s, part) ? s.kernel_w : 0, first = run.pixel;
  for (size_t x = 0; x < s.out_w; x += kPixels) {
    const ptrdiff_t in_x = ptrdiff_t(x * s.stride_w) - ptrdiff_t(s.pad_left);
    run.input = input + in_x * run.step;
    run.columns_inside = columns_inside(in_x, s.in_w);
    run.pixel = first + x;
    run.columns = s.out_w - x;
    switch (kernel) {
      case 3:
        convolve_strided<3>(s.stride_w, run, finish, part.c0, part.c1);
        break;
      case 5:
        convolve_strided<5>(s.stride_w, run, finish, part.c0, part.c1);
        break;
      case 7:
        convolve_strided<7>(s.stride_w, run, finish, part.c0, part.c1);
        break;
      default:
        convolve_run_any(s, run, in_x, finish, part.c0, part.c1);
        break;
    }
  }
}

// Outputs that are as far apart as the taps share inputs: each such phase of a row is one without dilation.
void convolve_phases(const ConvShape& s, Run run, const float* input, const Finish& finish,
                     const conv_detail::DepthwisePart& part) {
  const size_t apart = s.dilation_w, row = run.pixel;
  ConvShape phase = s;
  phase.dilation_w = 1;
  run.step *= ptrdiff_t(apart);
  run.pixel = 0;
  for (size_t x = 0; x < std::min(apart, s.out_w); ++x) {
    const ptrdiff_t start = ptrdiff_t(x) - ptrdiff_t(s.pad_left), period = ptrdiff_t(apart);
    const ptrdiff_t column = (start % period + period) % period;  // the first input of the phase
    phase.pad_left = size_t((column - start) / period);
    phase.in_w = size_t(column) < s.in_w ? ceil_div(s.in_w - size_t(column), apart) : 0;
    phase.out_w = ceil_div(s.out_w - x, apart);
    convolve_columns(phase, run, input + column * ptrdiff_t(s.in_pixel_stride), finish.every(apart, row + x), part);
  }
}

// Computes `rows` output rows from y on: one, or up to kMostRows if neighbours overlap.
void convolve_rows(const ConvArgs& args, const Finish& finish, const conv_detail::DepthwisePart& part, size_t y,
                   size_t rows) {
  const ConvShape& s = args.shape;
  Run run;
  run.rows = rows;
  run.prefetches = !conv_detail::is_near_image(s);
  run.out_line = s.out_w;
  run.step = ptrdiff_t(s.in_pixel_stride);
  run.line = ptrdiff_t(s.dilation_h * s.in_w) * run.step;
  run.weights = args.packed;
  run.vector_weights = s.kernel_h * s.kernel_w;
  const ptrdiff_t in_y = ptrdiff_t(y * s.stride_h) - ptrdiff_t(s.pad_top);
  run.inside = taps_inside(in_y, s.in_h, s.kernel_h + rows - 1, s.dilation_h);
  const ptrdiff_t row = ptrdiff_t(part.image * s.in_h) + in_y + ptrdiff_t(run.inside.first * s.dilation_h);
  const float* const input = args.input + row * ptrdiff_t(s.in_w) * run.step;
  run.pixel = (part.image * s.out_h + y) * s.out_w;
  const bool is_phased = s.dilation_w > 1 && s.stride_w == 1 && s.kernel_w > 1;
  (is_phased ? convolve_phases : convolve_columns)(s, run, input, finish, part);
  finish.activate((part.image * s.out_h + y) * s.out_w, rows * s.out_w, part.c0, part.c1);
}

}  // namespace

void depthwise_part(const ConvArgs& args, const conv_detail::DepthwisePart& part, const Parallel& par) noexcept {
  const ConvShape& s = args.shape;
  const Finish finish(args);
  const bool usual = s.kernel_w == 3 || s.kernel_w == 5 || s.kernel_w == 7;
  const size_t most = conv_detail::overlaps(s) && usual && !conv_detail::is_far_image(s) ? kMostRows : 1;
  for (size_t y = part.y0; y < part.y1 && !par.cancelled();) {
    const size_t rows = std::min(most, part.y1 - y);
    convolve_rows(args, finish, part, y, rows);
    y += rows;
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {

void conv_depthwise(const ConvArgs& args, const Parallel& par) noexcept {
  const ConvShape& s = args.shape;
  const DepthwisePlan plan = plan_depthwise(s);
  const auto run = RETORT_SELECT(depthwise_part);
  par.for_each(s.batch * plan.row_blocks * plan.channel_blocks, [&](size_t task, int) {
    DepthwisePart part;
    part.image = task / (plan.channel_blocks * plan.row_blocks);
    part.y0 = task / plan.channel_blocks % plan.row_blocks * plan.rows;
    part.y1 = std::min(part.y0 + plan.rows, s.out_h);
    const size_t first = task % plan.channel_blocks * plan.channels, end = std::min(first + plan.channels, s.out_c);
    for (part.c0 = first; part.c0 < end; part.c0 = part.c1) {
      part.c1 = std::min(part.c0 + plan.near, end);
      run(args, part, par);
    }
  });
}

}  // namespace retort::kernels::conv_detail
#endif
