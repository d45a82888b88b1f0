#include "kernels/attention/rotate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/rotate.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

struct Pair {
  V re, im;
};
HWY_INLINE Pair turned(V cos, V sin, V re, V im) {
  return {hn::Sub(hn::Mul(cos, re), hn::Mul(sin, im)), hn::Add(hn::Mul(sin, re), hn::Mul(cos, im))};
}
void rotate_pair(const RotateArgs& a, size_t i, const float* x, float* y) {
  const size_t step = a.interleaved ? 2 : 1, mate = a.interleaved ? 1 : a.half;
  const float re = x[i * step], im = x[i * step + mate];
  y[i * step] = a.cos[i] * re - a.sin[i] * im;
  y[i * step + mate] = a.sin[i] * re + a.cos[i] * im;
}

}  // namespace

void rotate_head(const RotateArgs& a, const float* x, float* y) noexcept {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= a.half; i += lanes) {
    const V cos = hn::LoadU(d, a.cos + i), sin = hn::LoadU(d, a.sin + i);
    if (a.interleaved) {
      V re, im;
      hn::LoadInterleaved2(d, x + 2 * i, re, im);
      const Pair p = turned(cos, sin, re, im);
      hn::StoreInterleaved2(p.re, p.im, d, y + 2 * i);
    } else {
      const Pair p = turned(cos, sin, hn::LoadU(d, x + i), hn::LoadU(d, x + a.half + i));
      hn::StoreU(p.re, d, y + i);
      hn::StoreU(p.im, d, y + a.half + i);
    }
  }
  for (; i < a.half; ++i) rotate_pair(a, i, x, y);
  if (x != y) std::copy_n(x + 2 * a.half, a.size - 2 * a.half, y + 2 * a.half);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void rotate(const RotateArgs& args, const float* x, float* y) noexcept { RETORT_SELECT(rotate_head)(args, x, y); }

}  // namespace retort::kernels
#endif
