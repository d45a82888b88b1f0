#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/pool.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/division.h"
#include "kernels/pool/planes.h"
#include "kernels/pool/pool_window-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

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
  const size_t y = row % s.height.out, step = s.width.stride * s.in_pixel_stride;
  // Windows [begin, end) have all their columns inside the image: they differ only in their place.
  const size_t begin = ceil_div(s.width.pad_begin, s.width.stride), room = s.width.in + s.width.pad_begin;
  const size_t end = room < s.width.reach() ? 0 : (room - s.width.reach()) / s.width.stride + 1;
  Window w{};
  for (size_t x = 0; x < s.width.out; ++x, out += s.out_pixel_stride) {
    if (x > begin && x < end)
      w.input += step;
    else
      w = window_at(args, image, s.in_pixel_stride, y, x);
    size_t c = 0;
    for (; c + 4 * kLanes <= s.channels; c += 4 * kLanes) pool_channels<Op, 4>(w, c, kLanes, out);
    for (; c + kLanes <= s.channels; c += kLanes) pool_channels<Op, 1>(w, c, kLanes, out);
    if (c < s.channels) pool_channels<Op, 1>(w, c, s.channels - c, out);
  }
}

// Floats of lines of input, including padding, that are pooled at once: several short lines, or part of a long one.
constexpr size_t kLineFloats = 2048;
constexpr size_t kFewPixels = 3;  // a row of fewer pixels fills too little of a vector

// Columns of a line: two whole vectors, which begin with columns `at` and `at + gap`; with kPart, the first n < kLanes.
template <bool kPart>
struct Columns {
  size_t at, gap, n;
};

// Calls f(columns) for blocks of `count` columns. The last two vectors may contain columns of those before them, which
// costs less than a part of a vector.
template <class F>
HWY_INLINE void for_columns(size_t count, const F& f) {
  if (count < kLanes) {
    if (count > 0) f(Columns<true>{0, 0, count});
    return;
  }
  const size_t gap = std::min(count - kLanes, kLanes), last = count - kLanes - gap;
  for (size_t i = 0;; i += 2 * kLanes) {
    f(Columns<false>{std::min(i, last), gap, kLanes});
    if (i >= last) return;
  }
}

// Combines taps [first, last) with the vectors of `c`.
template <class Op, bool kPart, class Tap>
HWY_INLINE void add_taps(const Columns<kPart>& c, size_t first, size_t last, const Tap& tap, Float& a, Float& b) {
#pragma GCC unroll 3
  for (size_t i = first; i < last; ++i) {
    const float* const p = tap(i) + c.at;
    a = Op::add(a, load_first(p, c.n));
    if constexpr (!kPart) b = Op::add(b, hn::LoadU(FloatTag(), p + c.gap));
  }
}

// Combines n columns of the rows of a window to a line.
template <class Op>
HWY_INLINE void combine_rows(const Window& w, size_t n, float* line) {
  const size_t taps = w.slices * w.rows;
  if (taps == 0) return void(std::fill_n(line, n, Op::kStart));
  if (taps == 1) return void(std::copy_n(w.input, n, line));
  for_columns(n, [&]<bool kPart>(const Columns<kPart>& c) HWY_ATTR {
    const float* const p = w.input + c.at;
    Float a = load_first(p, c.n), b = kPart ? a : hn::LoadU(FloatTag(), p + c.gap);
    for (size_t z = 0; z < w.slices; ++z)
      add_taps<Op>(
          c, z == 0, w.rows, [&](size_t i) { return w.input + z * w.slice + i * w.line; }, a, b);
    store_first(a, line + c.at, c.n);
    if constexpr (!kPart) hn::StoreU(b, FloatTag(), line + c.at + c.gap);
  });
}

// Floats from one phase of lines to the next: whole vectors. All phases fit twice kLineFloats.
constexpr size_t phase_floats(size_t stride) { return stride == 1 ? 0 : round_up(kLineFloats / stride, kLanes); }

// to[p * phase_floats + i] = from[i * stride + p] for the first `phases` of p and i < floats / stride.
void split_phases(const float* from, size_t floats, size_t stride, size_t phases, float* to) {
  const FloatTag d;
  const size_t n = floats / stride, phase = phase_floats(stride);
  for (size_t i = 0; stride == 2 && i < n; i += kLanes) {
    Float even, odd;
    hn::LoadInterleaved2(d, from + 2 * i, even, odd);
    hn::StoreU(even, d, to + i);
    hn::StoreU(odd, d, to + phase + i);
  }
  for (size_t i = 0; stride == 4 && i < n; i += kLanes) {
    Float v[4];
    hn::LoadInterleaved4(d, from + 4 * i, v[0], v[1], v[2], v[3]);
    for (size_t p = 0; p < 4; ++p) hn::StoreU(v[p], d, to + p * phase + i);
  }
  for (size_t p = 0; stride > 2 && stride != 4 && p < phases; ++p, to += phase) {
    for (size_t i = 0; i < n; ++i) to[i] = from[i * stride + p];
  }
}

// The numbers of taps that kLanes windows of a row, starting with x, have inside the image, or the padded image.
HWY_INLINE Float taps_of_windows(const PoolAxis& a, size_t x, bool padded) {
  const hn::RebindToSigned<FloatTag> di;
  const auto at = ptrdiff_t(x * a.stride) - ptrdiff_t(padded ? 0 : a.pad_begin);
  const auto limit = [](ptrdiff_t v) { return int32_t(std::clamp<ptrdiff_t>(v, 0, kLineFloats)); };
  const auto begin = hn::Set(di, limit(-at)), end = hn::Set(di, limit(ptrdiff_t(padded ? a.padded() : a.in) - at));
  const auto step = hn::Set(di, int32_t(a.dilation));
  auto tap = hn::Mul(hn::Iota(di, 0), hn::Set(di, int32_t(a.stride))), count = hn::Zero(di);
  for (size_t j = 0; j < a.kernel; ++j, tap = hn::Add(tap, step)) {
    count = hn::Sub(count, hn::VecFromMask(di, hn::AndNot(hn::Lt(tap, begin), hn::Lt(tap, end))));
  }
  return hn::ConvertTo(FloatTag(), count);
}

// The place of an output row: its plane or, in three dimensions, its volume and the slice in it, and the row in these.
struct RowAt {
  RowAt(const PoolShape& s, size_t row) : height(s.height.out), depth(s.depth.out) {
    y = row % height;
    z = row / height % depth;
    plane = row / height / depth;
  }
  void next() {
    if (++y < height) return;
    y = 0;
    if (++z < depth) return;
    z = 0;
    ++plane;
  }
  size_t plane, z, y;

 private:
  size_t height, depth;
};

// A window of an output row of a plane, without its columns; the divisor lacks the factor for these.
HWY_INLINE Window window_of_row(const PoolArgs& args, const RowAt& row) {
  const PoolShape& s = args.shape;
  const size_t in = s.height.in * s.width.in;
  const TapRange down = taps_of(s.height, row.y);
  Window w{args.input + row.plane * s.depth.in * in, down.count(), 0, s.height.dilation * s.width.in, 0, 0};
  if (w.rows > 0) w.input += first_pixel(s.height, row.y, down) * s.width.in;
  w.divisor = divisor_rows(args, row.y, w.rows) * add_slices(args, row.z, w);
  return w;
}

// For windows or strides that are too wide for a line, or too few pixels per line.
template <class Op>
void pool_pixel_nchw(const PoolArgs& args, size_t row, size_t x) {
  const PoolAxis& width = args.shape.width;
  const TapRange across = taps_of(width, x);
  Window w = window_of_row(args, RowAt(args.shape, row));
  w.columns = across.count();
  w.divisor *= divisor_columns(args, x);
  if (w.columns > 0) w.input += first_pixel(width, x, across);
  Float sum = hn::Set(FloatTag(), Op::kStart);
  for (size_t i = 0; i < w.slices * w.rows; ++i) {
    const float* in = w.input + i / w.rows * w.slice + i % w.rows * w.line;
    for (size_t j = 0; j < w.columns; ++j) sum = Op::add(sum, hn::Set(FloatTag(), in[j * width.dilation]));
  }
  args.output[row * width.out + x] = hn::GetLane(Op::finish(sum, w.divisor));
}

// Lines of kLineFloats for some rows, and what combining their columns needs.
struct Lines {
  // After the lines, up to two vectors of each phase are read or written.
  HWY_ALIGN float rows[kLineFloats + 2 * kLanes], phases[2 * kLineFloats + 2 * kLanes];
  HWY_ALIGN float counts[kLineFloats + kLanes];  // for means: how many columns of each window count
  uint32_t taps[kLineFloats];                    // where the columns of a row's first window begin
};

// Writes n pixels of a row whose windows' rows are combined. kKernel is 0, or the number of columns of a window.
template <class Op, size_t kKernel>
HWY_INLINE void finish_some_columns(const Lines& lines, const float* line, size_t kernel, size_t divisor, size_t n,
                                    float* out) {
  const FloatTag d;
  const float* taps[kKernel + 1] = {line};
  for (size_t j = 1; j < kKernel; ++j) taps[j] = line + lines.taps[j];
  for_columns(n, [&]<bool kPart>(Columns<kPart> c) HWY_ATTR {
    const size_t pixels = std::exchange(c.n, kLanes);  // lines have space for a whole vector
    Float a = hn::LoadU(d, line + c.at), b = kPart ? a : hn::LoadU(d, line + c.at + c.gap);
    if constexpr (kKernel > 0)
      add_taps<Op>(
          c, 1, kKernel, [&](size_t j) { return taps[j]; }, a, b);
    else
      add_taps<Op>(
          c, 1, kernel, [&](size_t j) { return line + lines.taps[j]; }, a, b);
    const float* const counts = lines.counts + c.at;
    store_first(Op::finish(a, hn::LoadU(d, counts), divisor), out + c.at, pixels);
    if constexpr (!kPart) hn::StoreU(Op::finish(b, hn::LoadU(d, counts + c.gap), divisor), d, out + c.at + c.gap);
  });
}

template <class Op>
HWY_INLINE void finish_row(const Lines& lines, const float* line, size_t kernel, size_t divisor, size_t n, float* out) {
  if (kernel == 2) return finish_some_columns<Op, 2>(lines, line, kernel, divisor, n, out);  // the most common ones
  if (kernel == 3) return finish_some_columns<Op, 3>(lines, line, kernel, divisor, n, out);
  finish_some_columns<Op, 0>(lines, line, kernel, divisor, n, out);
}

// Some rows of planes: `most` pixels at a time, whose lines have `line` floats each.
struct Strip {
  size_t row0, row1, most, line;
};

// Computes pixels [x, x + most) of output rows of planes: combines the rows of their windows to lines, then the lines'
// columns. Several rows at once: their lines are in the cache before columns are read from them.
template <class Op>
void pool_strip(const PoolArgs& args, const Strip& strip, size_t x, Lines& lines) {
  constexpr size_t kMostRows = 8, kGroupFloats = 1024;
  const PoolAxis& width = args.shape.width;
  const size_t stride = width.stride, line = strip.line, n = std::min(strip.most, width.out - x);
  const size_t group = std::clamp<size_t>(kGroupFloats / line, 1, kMostRows);
  const ptrdiff_t column = ptrdiff_t(x * stride) - ptrdiff_t(width.pad_begin), end = ptrdiff_t(width.in) - column;
  const size_t begin = std::min(size_t(std::max<ptrdiff_t>(-column, 0)), line);
  const size_t pixels = std::clamp(end, ptrdiff_t(begin), ptrdiff_t(line)) - begin;
  std::fill_n(lines.rows, group * line + 2 * kLanes, Op::kStart);  // the padding stays
  const bool padded = args.kind == PoolKind::average_include_pad;
  for (size_t i = 0; Op::kDivides && i < n; i += kLanes)
    hn::StoreU(taps_of_windows(width, x + i, padded), FloatTag(), lines.counts + i);
  size_t divisors[kMostRows];
  RowAt at(args.shape, strip.row0);
  for (size_t row = strip.row0; row < strip.row1; row += group) {
    const size_t rows = std::min(group, strip.row1 - row);
    for (size_t r = 0; r < rows; ++r, at.next()) {
      Window w = window_of_row(args, at);
      divisors[r] = w.divisor;
      w.input += column + ptrdiff_t(begin);
      combine_rows<Op>(w, pixels, lines.rows + r * line + begin);
    }
    const float* const from = stride == 1 ? lines.rows : lines.phases;
    if (stride > 1) split_phases(lines.rows, rows * line, stride, std::min(stride, width.reach()), lines.phases);
    for (size_t r = 0; r < rows; ++r)
      finish_row<Op>(lines, from + r * (line / stride), width.kernel, divisors[r], n,
                     args.output + (row + r) * width.out + x);
  }
}

// Computes output rows of planes.
template <class Op>
void pool_rows_nchw(const PoolArgs& args, size_t row0, size_t row1) {
  const PoolAxis& width = args.shape.width;
  const size_t reach = width.reach(), stride = width.stride, out = width.out;
  if (kLanes * stride + reach > kLineFloats || out < kFewPixels) {
    for (size_t i = row0 * out; i < row1 * out; ++i) pool_pixel_nchw<Op>(args, i / out, i % out);
    return;
  }
  Lines lines;
  const size_t most = std::min((kLineFloats - reach) / stride, out);
  const Strip strip{row0, row1, most, ceil_div((most - 1) * stride + reach, stride) * stride};
  const size_t phase = phase_floats(stride);
  for (size_t j = 0; j < width.kernel; ++j)
    lines.taps[j] = uint32_t(j * width.dilation % stride * phase + j * width.dilation / stride);
  for (size_t x = 0; x < out; x += most) pool_strip<Op>(args, strip, x, lines);
}

}  // namespace

// Computes output rows [row0, row1) of the batch, or of all planes.
void pool_rows(const PoolArgs& args, bool nchw, size_t row0, size_t row1) noexcept {
  const bool max = args.kind == PoolKind::max;
  if (nchw) return max ? pool_rows_nchw<Largest>(args, row0, row1) : pool_rows_nchw<Mean>(args, row0, row1);
  const auto pool_row = max ? pool_row_nhwc<Largest> : pool_row_nhwc<Mean>;
  for (size_t row = row0; row < row1; ++row) pool_row(args, row);
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
  if (!pools_planes(s)) return pool_all(a, true, par);
  const auto run = RETORT_SELECT(pool_rows);
  pool_planes(
      a, [&](size_t row0, size_t row1) { run(a, true, row0, row1); }, par);
}

}  // namespace retort::kernels
#endif
