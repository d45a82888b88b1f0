// Sin, Cos (2 ULP) and Pow (1 ULP) on Highway float vectors of at least two lanes, through double precision, and Atan,
// Asin, Acos (2 ULP); simd_math_test.cc measures it. They are not on the hot path of today's models, so accuracy was
// preferred to speed.
//
// For the fit of polynomials see kernels/simd_math.h; "fit" in units of 2^-24 for float, relative for double
// coefficients. Per-target include guard: include after <hwy/highway.h>.
#if defined(RETORT_KERNELS_SIMD_TRIG_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_SIMD_TRIG_H_
#undef RETORT_KERNELS_SIMD_TRIG_H_
#else
#define RETORT_KERNELS_SIMD_TRIG_H_
#endif

#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace detail {

/// Applies f to the two halves of float vectors, promoted to double; the result is rounded to float.
template <class D, class F, class... V>
HWY_INLINE hn::Vec<D> InDouble(D d, const F& f, V... x) {
  const hn::Half<D> dh;
  const hn::RebindToFloat<hn::Repartition<int64_t, D>> dd;
  const auto low = f(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, x))...);
  const auto high = f(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, x))...);
  return hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
}

// x - n·π/2; π/2 is in two parts, the first with 33 bits: exact for |n| < 2^20 without FMA.
struct MinusHalfPi {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V n) const {
    const auto r = hn::NegMulAdd(n, hn::Set(d, 0x1.921fb544p+0), x);
    return hn::NegMulAdd(n, hn::Set(d, 0x1.0b4611a626331p-34), r);
  }
};

/// sin(x + quarter·π/2). `exact` computes the lanes in which |x| is too large for the reduction, or infinite.
template <class D, class V>
HWY_INLINE V SinOrCos(D d, V x, int quarter, double (*exact)(double)) {
  const hn::RebindToSigned<D> di;
  const auto n = hn::Round(hn::Mul(x, hn::Set(d, 0x1.45f306p-1f)));  // 2/π
  const auto r = InDouble(d, MinusHalfPi(), x, n);
  const auto u = hn::Mul(r, r);
  const auto one = hn::Set(d, 1.0f);
  // sin: r + r³·p(r²), fit 0.003; cos: 1 - r²/2 + r⁴·p(r²), fit 0.002, on |r| <= 0.79.
  const auto s =
      hn::MulAdd(hn::Mul(u, r), Polynomial(d, u, -0x1.555556p-3f, 0x1.111172p-7f, -0x1.a056a6p-13f, 0x1.7b5aep-19f), r);
  const auto c = hn::MulAdd(hn::Mul(u, u), Polynomial(d, u, 0x1.55554ap-5f, -0x1.6c0c14p-10f, 0x1.99de6ep-16f),
                            hn::NegMulAdd(u, hn::Set(d, 0.5f), one));
  const auto q = hn::Add(hn::ConvertTo(di, n), hn::Set(di, quarter));
  const auto odd = hn::RebindMask(d, hn::TestBit(q, hn::Set(di, 1)));
  const auto sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(q, hn::Set(di, 2))));
  auto y = hn::Xor(hn::IfThenElse(odd, c, s), sign);
  if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Gt(hn::Abs(x), hn::Set(d, 0x1p20f))))) {
    alignas(64) float from[hn::MaxLanes(d)], to[hn::MaxLanes(d)];
    hn::Store(x, d, from);
    hn::Store(y, d, to);
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
      if (std::fabs(from[i]) > 0x1p20f) to[i] = float(exact(from[i]));
    }
    y = hn::Load(d, to);
  }
  return y;
}

/// 2^(y·log2 x) for x > 0 or x = +0.
struct PowPositive {
  // log2 of x = 2^e·m, √½ <= m < √2: s·p(s²), s = (m - 1)/(m + 1), relative fit 3e-14. Floats are normal doubles or 0.
  template <class D, class V>
  static HWY_INLINE V Log2(D d, V x) {
    const hn::RebindToUnsigned<D> du;
    const auto root = hn::Set(du, 0x3fe6a09e667f3bcdull);  // √½
    const auto above = hn::Sub(hn::BitCast(du, x), root);
    const auto e_biased = hn::ShiftRight<52>(hn::Add(above, hn::Set(du, 1023ull << 52)));
    // e + 1023 as a double: in the low bits of 2^52.
    const auto e =
        hn::Sub(hn::BitCast(d, hn::Or(e_biased, hn::Set(du, 0x4330000000000000ull))), hn::Set(d, 0x1p52 + 1023));
    const auto m = hn::BitCast(d, hn::Add(hn::And(above, hn::Set(du, (1ull << 52) - 1)), root));
    const auto one = hn::Set(d, 1.0);
    const auto s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
    const auto p = Polynomial(d, hn::Mul(s, s), 0x1.71547652b8250p+1, 0x1.ec709dc53d603p-1, 0x1.2776c29225b2ep-1,
                              0x1.a61a2fa0be6c4p-2, 0x1.479534cf24a7ap-2, 0x1.21b2babf6c456p-2);
    const auto inf = hn::Set(d, std::numeric_limits<double>::infinity());
    const auto log = hn::MulAdd(s, p, e);
    return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), hn::IfThenElse(hn::Eq(x, inf), inf, log));
  }
  // 2^t, relative fit 8e-13. Beyond ±200 the result is 0 or inf as a float.
  template <class D, class V>
  static HWY_INLINE V Exp2(D d, V t) {
    const hn::RebindToUnsigned<D> du;
    t = MaxKeepNaN(hn::Set(d, -200.0), MinKeepNaN(hn::Set(d, 200.0), t));
    const auto magic = hn::Set(d, 0x1.8p52 + 1023);
    const auto biased = hn::Add(t, magic);
    const auto r = hn::Sub(t, hn::Sub(biased, magic));
    const auto p =
        Polynomial(d, r, 1.0, 0x1.62e42fef8615cp-1, 0x1.ebfbdff9319d2p-3, 0x1.c6b08dd46d70ep-5, 0x1.3b2ab5c52a316p-7,
                   0x1.5d8748382e165p-10, 0x1.430acca292c0ep-13, 0x1.00dad261590fdp-16, 0x1.61afcd2fff531p-20);
    return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, biased))));
  }
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V y) const {
    return Exp2(d, hn::Mul(y, Log2(d, x)));
  }
};

}  // namespace detail

/// Above 2^20, lane by lane with std::sin; ±inf gives NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sin(D d, V x) {
  return detail::SinOrCos(d, x, 0, [](double v) { return std::sin(v); });
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Cos(D d, V x) {
  return detail::SinOrCos(d, x, 1, [](double v) { return std::cos(v); });
}

/// x^y with the special cases of C's pow: x^0 = 1^y = 1 even for NaN, (-1)^±inf = 1, negative x only for whole y
/// (otherwise NaN).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Pow(D d, V x, V y) {
  const auto one = hn::Set(d, 1.0f);
  const auto inf = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  const auto ax = hn::Abs(x);
  auto r = detail::InDouble(d, detail::PowPositive(), ax, y);
  r = hn::IfThenElse(hn::Eq(ax, one), one, r);  // also for y = ±inf, where y·log2 is NaN
  const auto half = hn::Mul(y, hn::Set(d, 0.5f));
  const auto whole = hn::Eq(hn::Round(y), y);
  const auto odd = hn::AndNot(hn::Eq(hn::Round(half), half), whole);
  r = hn::IfThenElse(odd, hn::CopySign(r, x), r);
  const auto root_of_negative = hn::And(hn::Lt(x, hn::Zero(d)), hn::AndNot(whole, hn::Lt(ax, inf)));
  r = hn::IfThenElse(hn::Or(root_of_negative, hn::Or(hn::IsNaN(x), hn::IsNaN(y))), nan, r);
  return hn::IfThenElse(hn::Or(hn::Eq(y, hn::Zero(d)), hn::Eq(x, one)), one, r);
}

namespace detail {

/// asin |x| up to ½, and (π/2 - asin |x|)/2 = asin √((1 - |x|)/2) above, as s + rest: rest = s³·p(s²), fit 0.08 on s <=
/// ½. NaN beyond 1.
template <class V, class M>
struct ArcSineParts {
  V s, rest;
  M small;  ///< |x| <= ½
};
template <class D, class V>
HWY_INLINE ArcSineParts<V, hn::Mask<D>> ArcSine(D d, V x) {
  const auto half = hn::Set(d, 0.5f), a = hn::Abs(x);
  const auto small = hn::Le(a, half);
  const auto u = hn::IfThenElse(small, hn::Mul(a, a), hn::NegMulAdd(a, half, half));
  const auto s = hn::IfThenElse(small, a, hn::Sqrt(u));
  const auto p = Polynomial(d, u, 0x1.5555c8p-3f, 0x1.330204p-4f, 0x1.747bb8p-5f, 0x1.8c3e5p-6f, 0x1.595c6p-5f);
  return {s, hn::Mul(hn::Mul(u, s), p), small};
}

/// turns·π/2 + s + rest: π/2 in two parts, with s added to the large one.
template <class D, class V>
HWY_INLINE V FromQuarterTurns(D d, V turns, V s, V rest) {
  const auto large = hn::MulAdd(turns, hn::Set(d, 0x1.921fb6p+0f), s);
  return hn::Add(large, hn::MulAdd(turns, hn::Set(d, -0x1.777a5cp-25f), rest));
}

}  // namespace detail

/// Arc tangent of |x| up to tan π/8, of -1/|x| from tan 3π/8 on (plus π/2), of (|x| - 1)/(|x| + 1) between (plus π/4):
/// z + z³·p(z²), fit 0.35.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Atan(D d, V x) {
  const auto a = hn::Abs(x), one = hn::Set(d, 1.0f);
  const auto middle = hn::Gt(a, hn::Set(d, 0x1.a8279ap-2f)), large = hn::Gt(a, hn::Set(d, 0x1.3504f4p+1f));
  const auto over = hn::IfThenElse(large, hn::Neg(one), hn::IfThenElse(middle, hn::Sub(a, one), a));
  const auto under = hn::IfThenElse(large, a, hn::IfThenElse(middle, hn::Add(a, one), one));
  const auto z = hn::Div(over, under), u = hn::Mul(z, z);
  const auto p = Polynomial(d, u, -0x1.555454p-2f, 0x1.9924d8p-3f, -0x1.1c37eap-3f, 0x1.49e63ap-4f);
  const auto turns = hn::IfThenElse(large, one, hn::IfThenElseZero(middle, hn::Set(d, 0.5f)));  // in units of π/2
  return hn::CopySign(detail::FromQuarterTurns(d, turns, z, hn::Mul(hn::Mul(u, z), p)), x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Asin(D d, V x) {
  const auto arc = detail::ArcSine(d, x);
  const auto minus_two = hn::Set(d, -2.0f);
  const auto large =
      detail::FromQuarterTurns(d, hn::Set(d, 1.0f), hn::Mul(arc.s, minus_two), hn::Mul(arc.rest, minus_two));
  return hn::CopySign(hn::IfThenElse(arc.small, hn::Add(arc.s, arc.rest), large), x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Acos(D d, V x) {
  const auto arc = detail::ArcSine(d, x);
  const auto one = hn::Set(d, 1.0f), sign = hn::CopySign(one, x);
  const auto factor = hn::IfThenElse(arc.small, hn::Neg(sign), hn::Add(sign, sign));
  const auto turns = hn::IfThenElse(arc.small, one, hn::Sub(one, sign));
  return detail::FromQuarterTurns(d, turns, hn::Mul(arc.s, factor), hn::Mul(arc.rest, factor));
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
