// What pools compute from their windows, and which elements of an image a window has. Included once per instruction level
// (see dispatch.h).
#if defined(RETORT_KERNELS_POOL_POOL_WINDOW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_POOL_POOL_WINDOW_INL_H_
#undef RETORT_KERNELS_POOL_POOL_WINDOW_INL_H_
#else
#define RETORT_KERNELS_POOL_POOL_WINDOW_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

#include "kernels/conv/lanes-inl.h"
#include "kernels/conv/taps.h"
#include "kernels/pool/pool.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

struct Largest {
  static constexpr bool kDivides = false;
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static HWY_INLINE Float add(Float sum, Float v) { return hn::IfThenElse(hn::IsNaN(sum), sum, MaxKeepNaN(sum, v)); }
  static HWY_INLINE Float finish(Float sum, size_t) { return sum; }
  static HWY_INLINE Float finish(Float sum, Float, size_t) { return sum; }
};

struct Mean {
  static constexpr bool kDivides = true;
  static constexpr float kStart = 0.0f;
  static HWY_INLINE Float add(Float sum, Float v) { return hn::Add(sum, v); }
  static HWY_INLINE Float finish(Float sum, size_t count) {
    return count ? hn::Div(sum, hn::Set(FloatTag(), float(count))) : hn::Zero(FloatTag());
  }
  static HWY_INLINE Float finish(Float sum, Float columns, size_t rows) {
    const FloatTag d;
    return hn::Div(sum, hn::Max(hn::Mul(columns, hn::Set(d, float(rows))), hn::Set(d, 1.0f)));
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
inline size_t taps_padded(const PoolAxis& a, size_t at) {
  return taps_inside(ptrdiff_t(at * a.stride), a.padded(), a.kernel, a.dilation).last;
}

// Index in the image of the first of the taps of window `at`; there must be one.
HWY_INLINE size_t first_pixel(const PoolAxis& a, size_t at, const TapRange& taps) {
  return at * a.stride + taps.first * a.dilation - a.pad_begin;
}

// The divisor of the means of a row's windows, without the factor for their columns.
inline size_t divisor_rows(const PoolArgs& args, size_t y, size_t rows) {
  return args.kind == PoolKind::average_include_pad ? taps_padded(args.shape.height, y) : rows;
}

inline size_t divisor_columns(const PoolArgs& args, size_t x) {
  const PoolAxis& width = args.shape.width;
  return args.kind == PoolKind::average_include_pad ? taps_padded(width, x) : taps_of(width, x).count();
}

// The window of output pixel (y, x); `image` is its channel's first pixel; `pixel` is the distance in floats from one
// pixel to the next.
inline Window window_at(const PoolArgs& args, const float* image, size_t pixel, size_t y, size_t x) {
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
inline size_t add_slices(const PoolArgs& args, size_t z, Window& w) {
  const PoolAxis& depth = args.shape.depth;
  if (depth.in == 1 && depth.out == 1 && depth.kernel == 1 && depth.pad_begin == 0) return 1;
  const size_t plane = args.shape.height.in * args.shape.width.in;
  const TapRange deep = taps_of(depth, z);
  w.slices = deep.count();
  w.slice = depth.dilation * plane;
  if (w.slices > 0) w.input += first_pixel(depth, z, deep) * plane;
  return args.kind == PoolKind::average_include_pad ? taps_padded(depth, z) : w.slices;
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
