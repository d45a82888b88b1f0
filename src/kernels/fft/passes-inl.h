// The passes of a complex transform. Per-target include guard: include after <hwy/highway.h>.
#if defined(RETORT_KERNELS_FFT_PASSES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_FFT_PASSES_INL_H_
#undef RETORT_KERNELS_FFT_PASSES_INL_H_
#else
#define RETORT_KERNELS_FFT_PASSES_INL_H_
#endif

#include <algorithm>
#include <utility>

#include "kernels/fft/fft.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Planes {
  float *re, *im;
  Planes operator+(size_t n) const { return {re + n, im + n}; }
};

template <class V>
struct Complex {
  V re, im;
};
template <class V>
HWY_INLINE Complex<V> Times(Complex<V> a, Complex<V> b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)), hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}
template <class D>
HWY_INLINE Complex<hn::Vec<D>> LoadPlanes(D d, Planes p, size_t at) {
  return {hn::LoadU(d, p.re + at), hn::LoadU(d, p.im + at)};
}
template <class D>
HWY_INLINE void StorePlanes(D d, Complex<hn::Vec<D>> v, Planes p, size_t at) {
  hn::StoreU(v.re, d, p.re + at);
  hn::StoreU(v.im, d, p.im + at);
}

/// Calls f(at) for vectors of D that cover [0, count), count >= Lanes(d). The last one may overlap the previous one, so
/// f must not write what it reads.
template <class D, class F>
HWY_INLINE void ForVectors(D d, size_t count, const F& f) {
  const size_t lanes = hn::Lanes(d);
  for (size_t next = 0; next < count; next += lanes) f(std::min(next, count - lanes));
}

/// Computes sums of r numbers and calls emit(k, Σ a[j] e^(-2πi jk / r)). R is r if it is a constant, otherwise 0.
template <size_t R, class D, class Emit>
HWY_INLINE void Butterfly(D d, size_t r, const float* roots, Complex<hn::Vec<D>>* a, const Emit& emit) {
  using V = hn::Vec<D>;
  if constexpr (R == 2) {
    emit(0, Complex<V>{hn::Add(a[0].re, a[1].re), hn::Add(a[0].im, a[1].im)});
    emit(1, Complex<V>{hn::Sub(a[0].re, a[1].re), hn::Sub(a[0].im, a[1].im)});
  } else if constexpr (R == 4) {
    const V er = hn::Add(a[0].re, a[2].re), ei = hn::Add(a[0].im, a[2].im), fr = hn::Sub(a[0].re, a[2].re),
            fi = hn::Sub(a[0].im, a[2].im), gr = hn::Add(a[1].re, a[3].re), gi = hn::Add(a[1].im, a[3].im),
            hr = hn::Sub(a[1].re, a[3].re), hi = hn::Sub(a[1].im, a[3].im);
    emit(0, Complex<V>{hn::Add(er, gr), hn::Add(ei, gi)});
    emit(1, Complex<V>{hn::Add(fr, hi), hn::Sub(fi, hr)});
    emit(2, Complex<V>{hn::Sub(er, gr), hn::Sub(ei, gi)});
    emit(3, Complex<V>{hn::Sub(fr, hi), hn::Add(fi, hr)});
  } else {
    const size_t pairs = r / 2;
    Complex<V> sum = a[0];
#pragma GCC unroll 4
    for (size_t j = 1; j <= pairs; ++j) {
      const Complex<V> u = a[j], v = a[r - j];
      a[j] = {hn::Add(u.re, v.re), hn::Add(u.im, v.im)};
      a[r - j] = {hn::Sub(u.re, v.re), hn::Sub(u.im, v.im)};
      sum = {hn::Add(sum.re, a[j].re), hn::Add(sum.im, a[j].im)};
    }
    emit(0, sum);
#pragma GCC unroll 4
    for (size_t k = 1; k <= pairs; ++k) {
      Complex<V> even = a[0], odd{hn::Zero(d), hn::Zero(d)};
#pragma GCC unroll 4
      for (size_t j = 1, at = k; j <= pairs; ++j, at = at + k < r ? at + k : at + k - r) {
        const V cosine = hn::Set(d, roots[at]), sine = hn::Set(d, roots[r + at]);
        even = {hn::MulAdd(a[j].re, cosine, even.re), hn::MulAdd(a[j].im, cosine, even.im)};
        odd = {hn::MulAdd(a[r - j].re, sine, odd.re), hn::MulAdd(a[r - j].im, sine, odd.im)};
      }
      emit(k, Complex<V>{hn::Sub(even.re, odd.im), hn::Add(even.im, odd.re)});
      emit(r - k, Complex<V>{hn::Add(even.re, odd.im), hn::Sub(even.im, odd.re)});
    }
  }
}

struct Pass {
  size_t radix, columns, width;  ///< x is [radix, columns, width], y [columns, radix, width]
};

template <size_t R, bool kTurn, class D>
HWY_INLINE void Column(D d, const Pass& pass, const float* roots, const float* twiddles, Planes x, Planes y) {
  using V = hn::Vec<D>;
  const size_t r = R ? R : pass.radix, width = pass.width, stride = pass.columns * width;
  ForVectors(d, width, [&](size_t at) HWY_ATTR {
    Complex<V> a[R ? R : FftPlan::kMaxRadix];
    a[0] = LoadPlanes(d, x, at);
#pragma GCC unroll 4
    for (size_t j = 1; j < r; ++j) a[j] = LoadPlanes(d, x, j * stride + at);
    Butterfly<R>(d, r, roots, a, [&](size_t k, Complex<V> v) HWY_ATTR {
      if (kTurn && k > 0) v = Times(v, Complex<V>{hn::Set(d, twiddles[2 * k - 2]), hn::Set(d, twiddles[2 * k - 1])});
      StorePlanes(d, v, y, k * width + at);
    });
  });
}

template <size_t R, class D>
void RunPass(D d, const Pass& pass, const float* table, Planes x, Planes y) {
  if constexpr (hn::MaxLanes(d) > 1) {
    if (pass.width < hn::Lanes(d)) return RunPass<R>(hn::Half<D>(), pass, table, x, y);
  }
  const size_t r = R ? R : pass.radix;
  const float* twiddles = table + (r % 2 == 1 ? 2 * r : 0);
  Column<R, false>(d, pass, table, twiddles, x, y);
  for (size_t p = 1; p < pass.columns; ++p, twiddles += 2 * (r - 1))
    Column<R, true>(d, pass, table, twiddles, x + p * pass.width, y + p * r * pass.width);
}

/// Transforms `width` columns; swaps x and y after each pass. Returns the end of its part of the table.
inline const float* RunChain(const FftPlan::Chain& chain, size_t width, const float* table, Planes& x, Planes& y) {
  const hn::ScalableTag<float> d;
  Pass pass{.radix = 1, .columns = chain.length, .width = width};
  for (size_t i = 0; i < chain.count; ++i, pass.width *= pass.radix) {
    pass.radix = chain.radices[i];
    pass.columns /= pass.radix;
    switch (pass.radix) {
      case 2:
        RunPass<2>(d, pass, table, x, y);
        break;
      case 3:
        RunPass<3>(d, pass, table, x, y);
        break;
      case 4:
        RunPass<4>(d, pass, table, x, y);
        break;
      case 5:
        RunPass<5>(d, pass, table, x, y);
        break;
      default:
        RunPass<0>(d, pass, table, x, y);
    }
    table += FftPlan::pass_floats(pass.radix, pass.columns);
    std::swap(x, y);
  }
  return table;
}

template <class D, class V>
HWY_INLINE void StoreTransposed(D d, V a, V b, V c, V e, float* to, size_t stride) {
  const hn::Repartition<double, D> wide;
  const auto ab = hn::BitCast(wide, hn::InterleaveLower(d, a, b)), ce = hn::BitCast(wide, hn::InterleaveLower(d, c, e)),
             ab2 = hn::BitCast(wide, hn::InterleaveUpper(d, a, b)),
             ce2 = hn::BitCast(wide, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab, ce)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab, ce)), d, to + stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab2, ce2)), d, to + 2 * stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab2, ce2)), d, to + 3 * stride);
}

/// y[j, k] = x[k, j] multiplied by turn[k, j], for x of [rows, columns], both at least 4.
inline void TurnTransposed(size_t rows, size_t columns, Planes turn, Planes x, Planes y) {
  const hn::Full128<float> d;
  ForVectors(d, rows, [&](size_t k) HWY_ATTR {
    ForVectors(d, columns, [&](size_t j) HWY_ATTR {
      Complex<hn::Vec<decltype(d)>> v[4];
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) {
        const size_t at = (k + i) * columns + j;
        v[i] = Times(LoadPlanes(d, x, at), LoadPlanes(d, turn, at));
      }
      StoreTransposed(d, v[0].re, v[1].re, v[2].re, v[3].re, y.re + j * rows + k, rows);
      StoreTransposed(d, v[0].im, v[1].im, v[2].im, v[3].im, y.im + j * rows + k, rows);
    });
  });
}

/// The same with `lines` numbers in place of each number.
template <class D>
void TurnTransposed(D d, size_t rows, size_t columns, size_t lines, Planes turn, Planes x, Planes y) {
  if constexpr (hn::MaxLanes(d) > 1) {
    if (lines < hn::Lanes(d)) return TurnTransposed(hn::Half<D>(), rows, columns, lines, turn, x, y);
  }
  for (size_t i = 0; i < rows * columns; ++i) {
    const Complex<hn::Vec<D>> by{hn::Set(d, turn.re[i]), hn::Set(d, turn.im[i])};
    const size_t to = (i % columns * rows + i / columns) * lines;
    ForVectors(d, lines,
               [&](size_t at) HWY_ATTR { StorePlanes(d, Times(LoadPlanes(d, x, i * lines + at), by), y, to + at); });
  }
}

/// Transforms plan.core() rows of `lines` numbers; x and y are swapped so that x has the result.
inline void RunCore(const FftPlan& plan, const float* table, size_t lines, Planes& x, Planes& y) {
  const size_t rows = plan.first.length, columns = plan.second.length;
  table = RunChain(plan.first, columns * lines, table, x, y);
  if (!plan.splits()) return;
  float* from = const_cast<float*>(table);  // only read
  const Planes turn{from, from + plan.core()};
  if (lines == 1)
    TurnTransposed(rows, columns, turn, x, y);
  else
    TurnTransposed(hn::ScalableTag<float>(), rows, columns, lines, turn, x, y);
  std::swap(x, y);
  RunChain(plan.second, rows * lines, table + 2 * plan.core(), x, y);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
