#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/pool.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "kernels/conv/lanes-inl.h"
#include "kernels/conv/taps.h"
#include "kernels/dispatch.h"
#include "kernels/division.h"
#include "kernels/pool/pool.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

struct Largest {
  static constexpr bool kDivides = false;
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static HWY_INLINE Float add(Float sum, Float v) { return hn::IfThenElse(hn::IsNaN(sum), sum, MaxKeepNaN(sum, v)); }
  static HWY_INLINE Float finish(Float sum, size_t) { return sum; }
};

struct Mean {
  static constexpr bool kDivides = true;
  static constexpr float kStart = 0.0f;
  static HWY_INLINE Float add(Float sum, Float v) { return hn::Add(sum, v); }
  static HWY_INLINE Float finish(Float sum, size_t count) {
    return count ? hn::Div(sum, hn::Set(FloatTag(), float(count))) : hn::Zero(FloatTag());
  }
};

// The taps of one output pixel that overlap the image, and the divisor of its mean.
struct Window {
  const float* input;    // address of the first tap
  size_t rows, columns;  // number of taps
  size_t line, step;     // floats from one row or column of taps to the next
  size_t divisor;
  size_t slices = 1, slice = 0;  // number of slices of rows of taps, and floats from one to the next
};

// Taps of window `at` of an axis that lie in the image.
HWY_INLINE TapRange taps_of(const PoolAxis& a, size_t at) {
  return taps_inside(ptrdiff_t(at * a.stride) - ptrdiff_t(a.pad_begin), a.in, a.kernel, a.dilation);
}

// Number of taps of window `at` that lie in the padded image.
size_t taps_padded(const PoolAxis& a, size_t at) {
  return taps_inside(ptrdiff_t(at * a.stride), a.padded(), a.kernel, a.dilation).last;
}

// Index in the image of the first of the taps of window `at`; there must be one.
HWY_INLINE size_t first_pixel(const PoolAxis& a, size_t at, const TapRange& taps) {
  return at * a.stride + taps.first * a.dilation - a.pad_begin;
}

// The divisor of the means of a row's windows, without the factor for their columns.
size_t divisor_rows(const PoolArgs& args, size_t y, size_t rows) {
  return args.kind == PoolKind::average_include_pad ? taps_padded(args.shape.height, y) : rows;
}

size_t divisor_columns(const PoolArgs& args, size_t x) {
  const PoolAxis& width = args.shape.width;
  return args.kind == PoolKind::average_include_pad ? taps_padded(width, x) : taps_of(width, x).count();
}

// The window of output pixel (y, x); `image` is its channel's first pixel; `pixel` is the distance in floats from one
// pixel to the next.
Window window_at(const PoolArgs& args, const float* image, size_t pixel, size_t y, size_t x) {
  const PoolAxis &height = args.shape.height, &width = args.shape.width;
  const TapRange down = taps_of(height, y), across = taps_of(width, x);
  Window w{image, down.count(), across.count(), height.dilation * width.in * pixel, width.dilation * pixel, 0};
  w.divisor = w.rows * w.columns;
  if (w.divisor > 0) w.input += (first_pixel(height, y, down) * width.in + first_pixel(width, x, across)) * pixel;
  if (args.kind == PoolKind::average_include_pad) {
    w.divisor = divisor_rows(args, y, w.rows) * divisor_columns(args, x);
  }
  return w;
}

// Adds the slices of output slice z to a window of its plane; returns their contribution to the divisor.
size_t add_slices(const PoolArgs& args, size_t z, Window& w) {
  const PoolAxis& depth = args.shape.depth;
  const size_t plane = args.shape.height.in * args.shape.width.in;
  const TapRange deep = taps_of(depth, z);
  w.slices = deep.count();
  w.slice = depth.dilation * plane;
  if (w.slices > 0) w.input += first_pixel(depth, z, deep) * plane;
  return args.kind == PoolKind::average_include_pad ? taps_padded(depth, z) : w.slices;
}

// kVectors vectors of channels, the last of them n wide.
template <class Op, size_t kVectors>
HWY_INLINE void pool_channels(const Window& w, size_t channel, size_t n, float* out) {
  const auto width = [n](size_t v) { return v + 1 == kVectors ? n : kLanes; };
  Float sums[kVectors];
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) sums[v] = hn::Set(FloatTag(), Op::kStart);
  for (size_t i = 0; i < w.rows; ++i) {
    for (size_t j = 0; j < w.columns; ++j) {
      const float* in = w.input + i * w.line + j * w.step + channel;
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) sums[v] = Op::add(sums[v], load_first(in + v * kLanes, width(v)));
    }
  }
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    store_first(Op::finish(sums[v], w.divisor), out + channel + v * kLanes, width(v));
  }
}

template <class Op>
void pool_row_nhwc(const PoolArgs& args, size_t row) {
  const PoolShape& s = args.shape;
  const float* image = args.input + row / s.height.out * s.height.in * s.width.in * s.in_pixel_stride;
  float* out = args.output + row * s.width.out * s.out_pixel_stride;
  for (size_t x = 0; x < s.width.out; ++x, out += s.out_pixel_stride) {
    const Window w = window_at(args, image, s.in_pixel_stride, row % s.height.out, x);
    size_t c = 0;
    for (; c + 4 * kLanes <= s.channels; c += 4 * kLanes) pool_channels<Op, 4>(w, c, kLanes, out);
    for (; c + kLanes <= s.channels; c += kLanes) pool_channels<Op, 1>(w, c, kLanes, out);
    if (c < s.channels) pool_channels<Op, 1>(w, c, s.channels - c, out);
  }
}

// Loads kLanes floats, `stride` apart; reads kLanes * stride floats.
HWY_INLINE Float load_every(const float* p, size_t stride) {
  const FloatTag d;
  if (stride == 1) return hn::LoadU(d, p);
  if (stride == 2) {
    Float even, odd;
    hn::LoadInterleaved2(d, p, even, odd);
    return even;
  }
  const hn::RebindToSigned<FloatTag> di;
  return hn::GatherIndex(d, p, hn::Mul(hn::Iota(di, 0), hn::Set(di, int32_t(stride))));
}

// Floats of a line of input, including padding, that are pooled at once.
constexpr size_t kLineFloats = 2048;
constexpr size_t kFewPixels = 3;  // a row of fewer pixels fills too little of a vector

// Reduces the rows of a window over `count` columns, starting with `column`, to one line; some columns may be outside
// the image.
template <class Op>
void combine_rows(const Window& w, size_t in_w, ptrdiff_t column, size_t count, float* line) {
  for (size_t i = 0; i < count; i += kLanes) hn::StoreU(hn::Set(FloatTag(), Op::kStart), FloatTag(), line + i);
  const ptrdiff_t begin = std::max<ptrdiff_t>(-column, 0), end = std::min(ptrdiff_t(in_w) - column, ptrdiff_t(count));
  for (ptrdiff_t i = begin; i < end; i += ptrdiff_t(kLanes)) {
    const size_t n = std::min(kLanes, size_t(end - i));
    Float sum = hn::Set(FloatTag(), Op::kStart);
    for (size_t z = 0; z < w.slices; ++z) {
      const float* in = w.input + z * w.slice + column + i;
      for (size_t r = 0; r < w.rows; ++r) sum = Op::add(sum, load_first(in + r * w.line, n));
    }
    store_first(sum, line + i, n);
  }
}

// Means of `n` output pixels of a row, starting with x. Windows that cross no edge of the image share one divisor.
HWY_INLINE Float means(const PoolArgs& args, Float sums, size_t rows, size_t x, size_t n, size_t reach) {
  const PoolAxis& width = args.shape.width;
  if (x * width.stride >= width.pad_begin && (x + n - 1) * width.stride + reach <= width.in + width.pad_begin)
    return Mean::finish(sums, rows * width.kernel);
  HWY_ALIGN float divisors[kLanes];
  for (size_t i = 0; i < kLanes; ++i)
    divisors[i] = i < n ? float(std::max<size_t>(rows * divisor_columns(args, x + i), 1)) : 1.0f;
  return hn::Div(sums, hn::Load(FloatTag(), divisors));
}

// For windows or strides that are too wide for a line, or too few pixels per line.
template <class Op>
void pool_pixel_nchw(const PoolArgs& args, const float* plane, size_t z, size_t y, size_t x, float* out) {
  Window w = window_at(args, plane, 1, y, x);
  w.divisor *= add_slices(args, z, w);
  Float sum = hn::Set(FloatTag(), Op::kStart);
  for (size_t i = 0; i < w.slices * w.rows; ++i) {
    const float* in = w.input + i / w.rows * w.slice + i % w.rows * w.line;
    for (size_t j = 0; j < w.columns; ++j) sum = Op::add(sum, hn::Set(FloatTag(), in[j * w.step]));
  }
  *out = hn::GetLane(Op::finish(sum, w.divisor));
}

// Computes one output row of a plane: combines the rows of its windows to a line, then the line's columns.
template <class Op>
void pool_row_nchw(const PoolArgs& args, size_t row) {
  const PoolShape& s = args.shape;
  const float* plane = args.input + row / s.height.out / s.depth.out * s.depth.in * s.height.in * s.width.in;
  float* out = args.output + row * s.width.out;
  const size_t y = row % s.height.out, z = row / s.height.out % s.depth.out, reach = s.width.reach(),
               step = kLanes * s.width.stride;
  if (step + reach > kLineFloats || s.width.out < kFewPixels) {
    for (size_t x = 0; x < s.width.out; ++x) pool_pixel_nchw<Op>(args, plane, z, y, x, out + x);
    return;
  }
  const TapRange down = taps_of(s.height, y);
  Window w{plane, down.count(), 0, s.height.dilation * s.width.in, 0, 0};
  if (w.rows > 0) w.input += first_pixel(s.height, y, down) * s.width.in;
  const size_t divisors = divisor_rows(args, y, w.rows) * add_slices(args, z, w);
  HWY_ALIGN float line[kLineFloats + kLanes];
  const size_t most = (kLineFloats - reach) / step * kLanes;
  for (size_t x0 = 0; x0 < s.width.out; x0 += most) {
    const size_t x1 = std::min(x0 + most, s.width.out), count = ceil_div(x1 - x0, kLanes) * step + reach;
    combine_rows<Op>(w, s.width.in, ptrdiff_t(x0 * s.width.stride) - ptrdiff_t(s.width.pad_begin), count, line);
    for (size_t x = x0; x < x1; x += kLanes) {
      const float* in = line + (x - x0) * s.width.stride;
      Float sum = hn::Set(FloatTag(), Op::kStart);
      for (size_t j = 0; j < s.width.kernel; ++j)
        sum = Op::add(sum, load_every(in + j * s.width.dilation, s.width.stride));
      const size_t n = std::min(kLanes, x1 - x);
      if constexpr (Op::kDivides) sum = means(args, sum, divisors, x, n, reach);
      store_first(sum, out + x, n);
    }
  }
}

// Sums of kVectors vectors of channels over `pixels` pixels. A long chain of additions loses accuracy, so runs of
// pixels are summed first.
template <size_t kVectors>
HWY_INLINE void sum_channels(const float* in, size_t pixels, size_t pixel_stride, size_t n, Float (&totals)[kVectors]) {
  constexpr size_t kRun = 64;
  const auto width = [n](size_t v) { return v + 1 == kVectors ? n : kLanes; };
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) totals[v] = hn::Zero(FloatTag());
  for (size_t p0 = 0; p0 < pixels; p0 += kRun) {
    Float sums[kVectors];
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(FloatTag());
    for (size_t p = p0; p < std::min(p0 + kRun, pixels); ++p, in += pixel_stride) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) sums[v] = hn::Add(sums[v], load_first(in + v * kLanes, width(v)));
    }
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) totals[v] = hn::Add(totals[v], sums[v]);
  }
}

template <size_t kVectors>
HWY_INLINE void average_channels(const pool_detail::Pixels& of, const float* in, size_t n, float* out) {
  Float totals[kVectors];
  sum_channels<kVectors>(in, of.count, of.stride, n, totals);
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    store_first(Mean::finish(totals[v], of.divisor), out + v * kLanes, v + 1 == kVectors ? n : kLanes);
  }
}

}  // namespace

// Computes output rows [row0, row1) of the batch, or of all planes.
void pool_rows(const PoolArgs& args, bool nchw, size_t row0, size_t row1) noexcept {
  const bool max = args.kind == PoolKind::max;
  const auto pool_row = nchw ? (max ? pool_row_nchw<Largest> : pool_row_nchw<Mean>)
                             : (max ? pool_row_nhwc<Largest> : pool_row_nhwc<Mean>);
  for (size_t row = row0; row < row1; ++row) pool_row(args, row);
}

// Computes channels [c0, c1) of the mean of some pixels.
void average_pixels(const pool_detail::Pixels& of, size_t c0, size_t c1, float* out) noexcept {
  size_t c = c0;
  for (; c + 4 * kLanes <= c1; c += 4 * kLanes) average_channels<4>(of, of.input + c, kLanes, out + c);
  for (; c + kLanes <= c1; c += kLanes) average_channels<1>(of, of.input + c, kLanes, out + c);
  if (c < c1) average_channels<1>(of, of.input + c, c1 - c, out + c);
}

float average_plane(const float* in, size_t pixels) noexcept {
  const size_t whole = pixels / kLanes;  // read as this many pixels of a vector of channels
  Float sums[1];
  sum_channels<1>(in, whole, kLanes, kLanes, sums);
  float sum = hn::GetLane(hn::SumOfLanes(FloatTag(), sums[0]));
  for (size_t p = whole * kLanes; p < pixels; ++p) sum += in[p];
  return sum / float(pixels);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

// Elements that a task reads, about 5 µs of work.
constexpr size_t kTaskElements = 64 << 10;

void pool_all(const PoolArgs& args, bool nchw, const Parallel& par) noexcept {
  const PoolShape& s = args.shape;
  const size_t rows = s.batch * s.height.out * (nchw ? s.channels * s.depth.out : 1);
  const size_t row_elements = s.width.out * s.height.kernel * s.width.kernel * (nchw ? s.depth.kernel : s.channels);
  if (rows * row_elements == 0) return;
  const size_t task_rows = ceil_div(kTaskElements, row_elements);
  const auto run = RETORT_SELECT(pool_rows);
  par.for_each(ceil_div(rows, task_rows),
               [&](size_t task, int) { run(args, nchw, task * task_rows, std::min((task + 1) * task_rows, rows)); });
}

}  // namespace

void pool_nhwc(const PoolArgs& args, const Parallel& par) noexcept { pool_all(args, false, par); }
void pool_nchw(const PoolArgs& args, const Parallel& par) noexcept {
  PoolArgs a = args;
  PoolShape& s = a.shape;
  // A column has the same layout as a row.
  if (s.width.in == 1 && s.width.kernel == 1 && s.width.out == 1 && s.width.pad_begin + s.width.pad_end == 0) {
    std::swap(s.width, s.height);
  }
  pool_all(a, true, par);
}

namespace {

constexpr size_t kLine = 16;  // floats of a cache line

// The division of the means of images: blocks of pixels, whose sums are added afterwards, or of channels.
struct AveragePlan {
  size_t pixels = 0, pixel_blocks = 1, channels = 0, channel_blocks = 1;
};

// As convolutions divide such an image (conv_plan.h): a worker reads the pixels that it has written. If it read channels
// of all pixels, the next step would also find them in another processor's caches.
AveragePlan plan_average(size_t batch, size_t pixels, size_t channels) {
  // Elements that a task reads, about 2 µs of work. A block of channels is whole lines: no two tasks write to one.
  constexpr size_t kElements = 16 << 10, kMostTasks = 16, kFewPixels = 64;
  const size_t tasks = std::clamp<size_t>(batch * pixels * channels / kElements, 1, kMostTasks);
  const size_t most = ceil_div(std::bit_ceil(tasks), std::max<size_t>(batch, 1));
  AveragePlan p;
  p.pixels = pixels < kFewPixels ? pixels : even_block(pixels, batch, 1, most);
  p.channels = pixels < kFewPixels ? even_block(ceil_div(channels, kLine), batch, 1, most) * kLine : channels;
  p.pixel_blocks = ceil_div(pixels, p.pixels);
  p.channel_blocks = ceil_div(channels, std::max<size_t>(p.channels, 1));
  return p;
}

}  // namespace

size_t global_average_scratch_bytes(size_t batch, size_t pixels, size_t channels) {
  const AveragePlan plan = plan_average(batch, pixels, channels);
  return plan.pixel_blocks == 1 ? 0 : batch * plan.pixel_blocks * round_up(channels, kLine) * sizeof(float);
}

void global_average_nhwc(const GlobalAverageArgs& args, void* scratch, const Parallel& par) noexcept {
  if (args.batch * args.channels == 0) return;
  const AveragePlan plan = plan_average(args.batch, args.pixels, args.channels);
  const size_t stride = round_up(args.channels, kLine), parts = plan.pixel_blocks;
  const bool at_once = parts == 1;
  auto* const sums = static_cast<float*>(scratch);
  const auto run = RETORT_SELECT(average_pixels);
  par.for_each(args.batch * parts * plan.channel_blocks, [&](size_t task, int) {
    const size_t c0 = task % plan.channel_blocks * plan.channels, part = task / plan.channel_blocks;
    const size_t image = part / parts, p0 = part % parts * plan.pixels;
    pool_detail::Pixels of{args.input + (image * args.pixels + p0) * args.in_pixel_stride,
                           std::min(plan.pixels, args.pixels - p0), args.in_pixel_stride, at_once ? args.pixels : 1};
    run(of, c0, std::min(c0 + plan.channels, args.channels),
        at_once ? args.output + image * args.out_stride : sums + part * stride);
  });
  for (size_t b = 0; !at_once && b < args.batch; ++b) {
    run({sums + b * parts * stride, parts, stride, args.pixels}, 0, args.channels, args.output + b * args.out_stride);
  }
}

void global_average_nchw(const float* input, size_t planes, size_t pixels, float* output,
                         const Parallel& par) noexcept {
  const size_t task_planes = ceil_div(kTaskElements, std::max<size_t>(pixels, 1));
  const auto run = RETORT_SELECT(average_plane);
  par.for_each(ceil_div(planes, task_planes), [&](size_t task, int) {
    const size_t end = std::min((task + 1) * task_planes, planes);
    for (size_t p = task * task_planes; p < end; ++p) output[p] = run(input + p * pixels, pixels);
  });
}

}  // namespace retort::kernels
#endif
