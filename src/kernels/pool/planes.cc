// Planes are transposed, so that a vector has the same pixel of several of them; see planes.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/planes.cc"
#include "kernels/pool/planes.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/move/transpose_tile.h"
#include "kernels/pool/pool_window-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using pool_detail::kPlanes;
using pool_detail::PlaneStrip;

// Largest for numbers: a third of its operations.
struct LargestNumber : Largest {
  static HWY_INLINE Float add(Float sum, Float v) { return hn::Max(sum, v); }
};

constexpr size_t kVectors = kPlanes / kLanes;  // of a pixel

// Combines the same pixel of `taps` rows or columns, `step` floats apart.
template <class Op>
HWY_INLINE void combine(const float* in, size_t taps, size_t step, Float (&sums)[kVectors]) {
  const FloatTag d;
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) sums[v] = taps > 0 ? hn::LoadU(d, in + v * kLanes) : hn::Set(d, Op::kStart);
  for (size_t i = 1; i < taps; ++i) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) sums[v] = Op::add(sums[v], hn::LoadU(d, in + i * step + v * kLanes));
  }
}

template <class Op>
void pool_strip_of_planes(const PoolArgs& args, const PlaneStrip& strip) {
  const FloatTag d;
  const PoolAxis &height = args.shape.height, &width = args.shape.width;
  const size_t row = width.in * kPlanes;
  float* out = strip.out;
  Float sums[kVectors];
  for (size_t y = strip.y0; y < strip.y1; ++y) {
    const TapRange down = taps_of(height, y);
    const size_t rows = down.count(), divisor = divisor_rows(args, y, rows);
    const float* const in = strip.in + (rows > 0 ? (first_pixel(height, y, down) - strip.row) * row : 0);
    const float* line = in;
    for (size_t i = 0; rows != 1 && i < row; i += kPlanes) {
      combine<Op>(in + i, rows, height.dilation * row, sums);
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, strip.line + i + v * kLanes);
    }
    if (rows != 1) line = strip.line;
    for (size_t x = 0; x < width.out; ++x, out += kPlanes) {
      const TapRange across = strip.across[x];
      combine<Op>(line + across.first * kPlanes, across.count(), width.dilation * kPlanes, sums);
      const Float count = hn::Set(d, strip.counts[x]);
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) hn::StoreU(Op::finish(sums[v], count, divisor), d, out + v * kLanes);
    }
  }
}

}  // namespace

void pool_plane_strip(const PoolArgs& args, const PlaneStrip& strip) noexcept {
  args.kind == PoolKind::max ? pool_strip_of_planes<LargestNumber>(args, strip)
                             : pool_strip_of_planes<Mean>(args, strip);
}

// Lines of more columns fill vectors, so that windows of two columns are not worth the transposes: lines of 32 take 1.3
// times as long on Zen 4, 1.9 times with vectors of four floats.
size_t few_plane_columns() noexcept { return std::min<size_t>(24, 4 * kLanes); }

// Whether n floats, a multiple of kPlanes, have a NaN.
bool any_nan(const float* x, size_t n) noexcept {
  const FloatTag d;
  auto nan = hn::IsNaN(hn::Zero(d));
  for (size_t i = 0; i < n; i += kLanes) nan = hn::Or(nan, hn::IsNaN(hn::LoadU(d, x + i)));
  return !hn::AllFalse(d, nan);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

using pool_detail::kPlanes;
using pool_detail::PlaneStrip;

constexpr size_t kStripPixels = 384;  // of a strip, and of its result: 24 KiB each
// Of longer lines, a strip has less than six: windows of three rows would have most of them transposed twice.
constexpr size_t kMostColumns = 64;

// Pixels of the image that `rows` output rows need at most.
size_t pixels_of(const PoolShape& s, size_t rows) {
  return std::min((rows - 1) * s.height.stride + s.height.reach(), s.height.in) * s.width.in;
}

// The most output rows of a strip.
size_t strip_rows(const PoolShape& s) {
  size_t rows = std::min(s.height.out, kStripPixels / s.width.out);
  while (rows > 0 && pixels_of(s, rows) > kStripPixels) --rows;
  return rows;
}

// What a task needs.
struct PlaneScratch {
  alignas(64) float in[kStripPixels * kPlanes], out[kStripPixels * kPlanes], line[kMostColumns * kPlanes];
  TapRange across[kStripPixels];
  float counts[kStripPixels];
};

void set_columns(const PoolArgs& args, PlaneScratch& to) {
  const PoolAxis& a = args.shape.width;
  for (size_t x = 0; x < a.out; ++x) {
    const ptrdiff_t at = ptrdiff_t(x * a.stride), start = at - ptrdiff_t(a.pad_begin);
    const TapRange taps = taps_inside(start, a.in, a.kernel, a.dilation);
    const size_t first = taps.count() > 0 ? size_t(start + ptrdiff_t(taps.first * a.dilation)) : 0;
    to.across[x] = {first, first + taps.count()};
    to.counts[x] =
        float(args.kind == PoolKind::average_include_pad ? taps_inside(at, a.padded(), a.kernel, a.dilation).last
                                                         : taps.count());
  }
}

// Pools kPlanes planes from `plane` on, of which the first `skip` are not written. Returns false for a NaN, which the
// maximum of numbers does not keep.
bool pool_block(const PoolArgs& args, size_t plane, size_t skip, size_t rows, PlaneScratch& s) {
  const PoolAxis &height = args.shape.height, &width = args.shape.width;
  const size_t in = height.in * width.in, out = height.out * width.out;
  const TransposeFn transpose = transpose_fn(sizeof(float));
  for (size_t y = 0; y < height.out; y += rows) {
    const size_t y1 = std::min(y + rows, height.out);
    const auto image_row = [&](size_t padded) {
      return std::min(padded < height.pad_begin ? 0 : padded - height.pad_begin, height.in);
    };
    const size_t row0 = image_row(y * height.stride), row1 = image_row((y1 - 1) * height.stride + height.reach());
    const size_t pixels = (row1 - row0) * width.in, results = (y1 - y) * width.out;
    const float* const from = args.input + plane * in + row0 * width.in;
    transpose({s.in, kPlanes, from, ptrdiff_t(in), pixels, kPlanes});
    if (args.kind == PoolKind::max && RETORT_SELECT(any_nan)(s.in, pixels * kPlanes)) return false;
    RETORT_SELECT(pool_plane_strip)(args, {y, y1, row0, s.in, s.line, s.out, s.across, s.counts});
    float* const to = args.output + (plane + skip) * out + y * width.out;
    transpose({to, ptrdiff_t(out), s.out + skip, kPlanes, kPlanes - skip, results});
  }
  return true;
}

}  // namespace

bool pools_planes(const PoolShape& s) {
  const PoolAxis &depth = s.depth, &height = s.height;
  if (depth.in != 1 || depth.out != 1 || depth.padded() != 1 || s.batch * s.channels < kPlanes) return false;
  if (s.width.in > (s.width.kernel > 2 ? kMostColumns : RETORT_SELECT(few_plane_columns)()) ||
      s.width.out * height.out == 0 || s.width.in * height.in == 0)
    return false;
  const size_t rows = s.width.out > kStripPixels ? 0 : strip_rows(s);
  // Rows that two strips read are transposed twice.
  return rows == height.out || (rows > 0 && rows * height.stride >= 2 * height.reach());
}

void pool_planes(const PoolArgs& args, FunctionRef<void(size_t, size_t)> rest, const Parallel& par) noexcept {
  constexpr size_t kTaskElements = 128 << 10;  // that a task combines, about 5 µs of work
  const PoolShape& s = args.shape;
  const size_t rows = strip_rows(s), planes = s.batch * s.channels, blocks = ceil_div(planes, kPlanes);
  const size_t block_elements = kPlanes * s.height.out * s.width.out * (s.height.kernel + s.width.kernel);
  const size_t task_blocks = ceil_div(kTaskElements, block_elements);
  par.for_each(ceil_div(blocks, task_blocks), [&](size_t task, int) {
    PlaneScratch scratch;
    set_columns(args, scratch);
    const size_t end = std::min((task + 1) * task_blocks, blocks);
    for (size_t b = task * task_blocks; b < end; ++b) {
      // The last block begins before its own planes if these are fewer: sums have the same order in all planes.
      const size_t first = b * kPlanes, plane = std::min(first, planes - kPlanes);
      if (!pool_block(args, plane, first - plane, rows, scratch))
        rest(first * s.height.out, (plane + kPlanes) * s.height.out);
    }
  });
}

}  // namespace retort::kernels
#endif
