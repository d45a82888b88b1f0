// The steps of a softmax over contiguous elements. Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_NORM_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_NORM_SOFTMAX_INL_H_
#undef RETORT_KERNELS_NORM_SOFTMAX_INL_H_
#else
#define RETORT_KERNELS_NORM_SOFTMAX_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <limits>
#include <utility>

#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

constexpr float kLog2E = 1.44269504f;

// 2^(rate · (x - max)); with the rate log2(e) this is e^(x - max), with a relative error of |x - max|·1.2e-7, and 0
// below e^-87.7. Subtracting first keeps large inputs exact.
HWY_INLINE V exp_shifted(D d, V x, V max, V rate) {
  const V t = hn::Mul(hn::Sub(x, max), rate);
  return detail::RoughExp2(d, MaxKeepNaN(hn::Set(d, -127.0f), t));
}

/// Σ e^(scale · (x - max)); stores the terms if kStore.
template <bool kStore>
float exp_sum(const float* x, float max, float* y, size_t n, float scale = 1) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const V m = hn::Set(d, max), rate = hn::Set(d, scale * kLog2E);
  V s0 = hn::Zero(d), s1 = s0;
  size_t i = 0;
  const auto term = [&](size_t at) HWY_ATTR {
    const V e = exp_shifted(d, hn::LoadU(d, x + at), m, rate);
    if constexpr (kStore) hn::StoreU(e, d, y + at);
    return e;
  };
  for (; i + 4 * lanes <= n; i += 4 * lanes) {  // four chains of operations at a time, see elementwise/blocks-inl.h
    const V e0 = term(i), e1 = term(i + lanes), e2 = term(i + 2 * lanes), e3 = term(i + 3 * lanes);
    s0 = hn::Add(hn::Add(s0, e0), e2);
    s1 = hn::Add(hn::Add(s1, e1), e3);
  }
  for (; i + lanes <= n; i += lanes) {
    s0 = hn::Add(s0, term(i));
    std::swap(s0, s1);
  }
  if (i < n) {
    const V e = exp_shifted(d, LoadFirst(d, x + i, n - i), m, rate);
    if constexpr (kStore) StoreFirst(d, e, y + i, n - i);
    s1 = hn::Add(s1, hn::IfThenElseZero(hn::FirstN(d, n - i), e));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
}

/// y = f(x) for n elements.
template <class F>
HWY_INLINE void map_row(const float* x, float* y, size_t n, const F& f) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i < n) StoreFirst(d, f(LoadFirst(d, x + i, n - i)), y + i, n - i);
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
