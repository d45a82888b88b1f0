// Elementary functions and activations on Highway float vectors, compiled once per instruction level. Names follow
// Highway's ops, which they extend: `d` is the float tag, every function is pure and inline.
//
// Error in ULP of binary32 over all floats (elementwise/simd_math_test.cc measures it at all levels): Exp, Log 2; Tanh,
// Erf, Sigmoid, Silu 4; Gelu* 2e-7·|x| absolute. NaN gives NaN. ±inf gives the limit, but Silu(-inf) and Gelu(-inf) are
// NaN: their formulas multiply infinity by zero.
// Sigmoid and ExpNonPositive flush results below the smallest normal number to zero, Exp does not.
//
// The polynomials were fitted for this file: weighted minimax by Lawson's iteration on 1500-2000 Chebyshev points, the
// weight being the relative error of the final result; coefficients were rounded to float one at a time, lowest first,
// and the others fitted again after each. "Fit 0.05" says that the error of the rounded approximation is 0.05 · 2^-24.
//
// Per-target include guard: in a file that foreach_target.h compiles several times, include this after <hwy/highway.h>.
#if defined(RETORT_KERNELS_SIMD_MATH_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_SIMD_MATH_H_
#undef RETORT_KERNELS_SIMD_MATH_H_
#else
#define RETORT_KERNELS_SIMD_MATH_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/activation.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Sums that a product holds in registers, two vectors per row, beside its operands. There are 32 registers at 512 bits
/// and on AArch64; there the compiler spills more than 16 sums, because an instruction cannot read its operand from
/// memory.
constexpr size_t kAccumulators = HWY_MAX_BYTES == 64 ? 24 : HWY_ARCH_ARM_A64 ? 16 : 12;

/// min(limit, x), max(limit, x); x if x is NaN. (x86 min/max return the second operand then; others may not.)
template <class V>
HWY_INLINE V MinKeepNaN(V limit, V x) {
#if HWY_ARCH_X86
  return hn::Min(limit, x);
#else
  return hn::IfThenElse(hn::Lt(limit, x), limit, x);
#endif
}
template <class V>
HWY_INLINE V MaxKeepNaN(V limit, V x) {
#if HWY_ARCH_X86
  return hn::Max(limit, x);
#else
  return hn::IfThenElse(hn::Gt(limit, x), limit, x);
#endif
}

/// The first n < Lanes(d) elements at p, the other lanes zero; memory after them is not read.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const T* p, size_t n) {
  static_assert(sizeof(T) >= 4, "narrower masked loads may read memory after the elements");
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, n), d, p);
#else
  alignas(64) T lanes[hn::MaxLanes(d)] = {};
  std::memcpy(lanes, p, n * sizeof(T));  // p need not be aligned
  return hn::Load(d, lanes);
#endif
}
/// Stores the first n < Lanes(d) lanes; memory after them is not written.
template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE void StoreFirst(D d, V v, T* p, size_t n) {
  static_assert(sizeof(T) >= 4, "narrower masked stores may write memory after the elements");
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, n), d, p);
#else
  alignas(64) T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < n; ++i) p[i] = lanes[i];
#endif
}

/// c0 + x·(c1 + x·(…)): Horner's scheme.
template <class D, class V, typename T>
HWY_INLINE V Polynomial(D d, V, T c0) {
  return hn::Set(d, c0);
}
template <class D, class V, typename T, typename... C>
HWY_INLINE V Polynomial(D d, V x, T c0, C... rest) {
  return hn::MulAdd(Polynomial(d, x, rest...), x, hn::Set(d, c0));
}

namespace detail {

/// x = n·ln2 + r with |r| <= ln2/2. The low bits of `biased` are n + bias: adding 1.5·2^23 rounds to an integer.
template <class V>
struct ExpParts {
  V biased;
  V minus_one;  ///< e^r - 1
};

// e^r = 1 + r + r²·q(r), fit 0.05 on |r| <= 0.348. ln2 in two parts: 15 bits times |n| < 256 are exact without FMA.
template <int kBias, class D, class V>
HWY_INLINE ExpParts<V> ExpReduce(D d, V x) {
  const auto magic = hn::Set(d, 0x1.8p23f + kBias);
  const auto biased = hn::MulAdd(x, hn::Set(d, 0x1.715476p+0f), magic);
  const auto n = hn::Sub(biased, magic);
  auto r = hn::NegMulAdd(n, hn::Set(d, 0x1.62e4p-1f), x);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.7f7d1cp-20f), r);
  const auto q = Polynomial(d, r, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558bep-5f, 0x1.1239ecp-7f, 0x1.6a4002p-10f);
  return {biased, hn::MulAdd(hn::Mul(r, r), q, r)};
}

/// 2^(n + bias - 127) from ExpParts::biased.
template <class D, class V>
HWY_INLINE V ExpScale(D d, V biased) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, biased)));
}

/// 1 + e^-x: inf below -88.4, 1 above 18. It decides the speed of Silu and Sigmoid, so e^-r is one polynomial of degree 5,
/// fit 1.6 on |r| <= 0.348, and takes two multiply-adds less than ExpReduce: on Zen 4, Silu takes 0.85 times as long with
/// 16 lanes, 0.81 with 4.
template <class D, class V>
HWY_INLINE V OnePlusExpMinus(D d, V x) {
  x = MaxKeepNaN(hn::Set(d, -89.0f), MinKeepNaN(hn::Set(d, 87.0f), x));  // so that 0 <= n + 127 <= 255, which is inf
  const auto magic = hn::Set(d, 0x1.8p23f + 127);
  const auto biased = hn::NegMulAdd(x, hn::Set(d, 0x1.715476p+0f), magic);
  const auto n = hn::Sub(biased, magic);
  auto r = hn::MulAdd(n, hn::Set(d, 0x1.62e4p-1f), x);
  r = hn::MulAdd(n, hn::Set(d, 0x1.7f7d1cp-20f), r);
  const auto p =
      Polynomial(d, r, 1.0f, -0x1.fffff6p-1f, 0x1.fffdbcp-2f, -0x1.555a7ap-3f, 0x1.573e46p-5f, -0x1.0fa712p-7f);
  return hn::MulAdd(p, ExpScale(d, biased), hn::Set(d, 1.0f));
}

/// 2^t for -127 <= t <= 126 with an error of 3 ULP, exactly 0 below -126.5: 2^r = 1 + r·q(r), fit 1.6 on |r| <= 0.5.
template <class D, class V>
HWY_INLINE V RoughExp2(D d, V t) {
  const auto magic = hn::Set(d, 0x1.8p23f + 127);
  const auto biased = hn::Add(t, magic);
  const auto r = hn::Sub(t, hn::Sub(biased, magic));
  const auto p =
      Polynomial(d, r, 1.0f, 0x1.62e42ap-1f, 0x1.ebf9bep-3f, 0x1.c6b6d8p-5f, 0x1.3cea5cp-7f, 0x1.5bdcbep-10f);
  return hn::Mul(p, ExpScale(d, biased));
}

}  // namespace detail

/// e^x. Overflows to inf above 88.72, subnormal below -87.33, 0 below -103.97.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  x = MaxKeepNaN(hn::Set(d, -105.0f), MinKeepNaN(hn::Set(d, 89.0f), x));
  const auto e = detail::ExpReduce<0>(d, x);
  // 2^n as two factors, because n = -151 … 128 exceeds the range of one.
  const auto n = hn::Sub(hn::BitCast(di, e.biased), hn::Set(di, 0x4b400000));
  const auto half = hn::ShiftRight<1>(n);
  const auto bias = hn::Set(di, 127);
  const auto s1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const auto s2 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(n, half), bias)));
  return hn::Mul(hn::MulAdd(s1, e.minus_one, s1), s2);
}

/// e^x for x <= 0, as softmax needs it: 0 below ln 2^-126, cheaper than Exp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpNonPositive(D d, V x) {
  const auto low = hn::Set(d, -87.3365447f);
  const auto e = detail::ExpReduce<127>(d, MaxKeepNaN(low, x));
  const auto scale = detail::ExpScale(d, e.biased);
  return hn::IfThenZeroElse(hn::Lt(x, low), hn::MulAdd(scale, e.minus_one, scale));
}

/// ln x. 0 → -inf, negative → NaN.
/// x = 2^e·(1 + f), √½ <= 1 + f < √2; ln(1 + f) = f - f²/2 + f³·q(f), fit 0.1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto inf = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto tiny = hn::Lt(x, hn::Set(d, 0x1p-126f));
  const auto normal = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 0x1p23f)), x);
  const auto root = hn::Set(di, 0x3f3504f3);  // √½
  const auto above = hn::Sub(hn::BitCast(di, normal), root);
  auto e = hn::ConvertTo(d, hn::ShiftRight<23>(above));
  e = hn::Sub(e, hn::IfThenElseZero(tiny, hn::Set(d, 23.0f)));
  const auto m = hn::BitCast(d, hn::Add(hn::And(above, hn::Set(di, 0x007fffff)), root));
  const auto f = hn::Sub(m, hn::Set(d, 1.0f));
  const auto q = Polynomial(d, f, 0x1.555554p-2f, -0x1.000226p-2f, 0x1.99a01cp-3f, -0x1.54728ap-3f, 0x1.22d92ep-3f,
                            -0x1.0d8242p-3f, 0x1.055ec6p-3f, -0x1.38c9dep-4f);
  const auto f2 = hn::Mul(f, f);
  auto y = hn::MulAdd(e, hn::Set(d, 0x1.7f7d1cp-20f), hn::Mul(hn::Mul(f2, f), q));
  y = hn::Add(f, hn::NegMulAdd(hn::Set(d, 0.5f), f2, y));
  y = hn::MulAdd(e, hn::Set(d, 0x1.62e4p-1f), y);
  y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), y);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), y, hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
}

/// tanh x = m / (m + 2) with m = e^2x - 1 = 2^n·(e^r - 1) + (2^n - 1), which does not cancel near 0. ±1 from 9.02 on.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const auto z = MaxKeepNaN(hn::Set(d, -9.02f), MinKeepNaN(hn::Set(d, 9.02f), x));
  const auto e = detail::ExpReduce<127>(d, hn::Add(z, z));
  const auto scale = detail::ExpScale(d, e.biased);
  const auto m = hn::MulAdd(scale, e.minus_one, hn::Sub(scale, hn::Set(d, 1.0f)));
  return hn::CopySign(hn::Div(m, hn::Add(m, hn::Set(d, 2.0f))), x);  // the sign of -0 is lost in m
}

/// 1 / (1 + e^-x).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  return hn::Div(hn::Set(d, 1.0f), detail::OnePlusExpMinus(d, x));
}

/// x·sigmoid(alpha·x), alpha > 0. alpha = 1: SiLU; 1.702: QuickGelu.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ScaledSilu(D d, V x, float alpha) {
  return hn::Div(x, detail::OnePlusExpMinus(d, hn::Mul(x, hn::Set(d, alpha))));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Silu(D d, V x) {
  return hn::Div(x, detail::OnePlusExpMinus(d, x));
}

/// Below ½ an odd polynomial, fit 0.87; above it 1 - erfc(a), erfc(a) = 2^g(a), fit 0.08 on [0.5, 3.95], above which
/// erf rounds to 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Erf(D d, V x) {
  const auto a = MinKeepNaN(hn::Set(d, 3.95f), hn::Abs(x));
  const auto small = hn::Mul(a, Polynomial(d, hn::Mul(a, a), 0x1.20dd76p+0f, -0x1.812924p-2f, 0x1.cebd8ap-4f,
                                           -0x1.c575a2p-6f, 0x1.acb73ap-8f));
  const auto g = Polynomial(d, a, 0x1.b89a76p-15f, -0x1.a0de96p+0f, -0x1.d540b4p-1f, -0x1.386f52p-3f, 0x1.11d654p-5f,
                            -0x1.37cbb2p-8f, 0x1.5274dcp-12f);
  const auto large = hn::Sub(hn::Set(d, 1.0f), detail::RoughExp2(d, g));
  return hn::CopySign(hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.5f)), small, large), x);
}

/// x/2·(1 + erf(x/√2)) = max(x, 0) - a·Φ(-a), a = |x|, with Φ(-a) = 2^g(a), absolute fit 0.65 on [0, 5.8], 0 beyond
/// (exact: 3e-9). Only positive x are limited: of -inf the product is inf·0, so that the result is NaN, as the formula's.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluErf(D d, V x) {
  const auto limit = hn::Set(d, 5.8f);
  const auto a = hn::Abs(MinKeepNaN(limit, x));
  const auto g = Polynomial(d, a, -1.0f, -0x1.26af12p+0f, -0x1.d62f1cp-2f, -0x1.af7398p-5f, 0x1.e2a106p-8f,
                            -0x1.aba6fcp-12f, -0x1.e1945ep-15f, 0x1.2805e6p-17f);
  const auto tail = hn::IfThenElseZero(hn::Lt(a, limit), detail::RoughExp2(d, g));
  return hn::NegMulAdd(a, tail, MaxKeepNaN(hn::Zero(d), x));
}

/// x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))), computed as x·sigmoid(2·…), which is the same and does not cancel.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluTanh(D d, V x) {
  const auto c1 = hn::Set(d, 1.5957691216f);  // 2·√(2/π)
  const auto c3 = hn::Set(d, 1.5957691216f * 0.044715f);
  const auto inner = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), c3, c1));
  return hn::Div(x, detail::OnePlusExpMinus(d, inner));
}

/// clamp(alpha·x + beta, 0, 1).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V HardSigmoid(D d, V x, float alpha, float beta) {
  const auto y = hn::Add(hn::Mul(x, hn::Set(d, alpha)), hn::Set(d, beta));
  return MaxKeepNaN(hn::Zero(d), MinKeepNaN(hn::Set(d, 1.0f), y));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V HardSwish(D d, V x, float alpha, float beta) {
  return hn::Mul(x, HardSigmoid(d, x, alpha, beta));
}

/// One function object per kind of Activation: op(d, v) is the activated vector.
template <Activation::Kind kKind>
struct ActivationOp {
  float a, b;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V x) const {
    using enum Activation::Kind;
    if constexpr (kKind == none) return x;
    if constexpr (kKind == relu) return MaxKeepNaN(hn::Zero(d), x);
    if constexpr (kKind == clip) return MinKeepNaN(hn::Set(d, b), MaxKeepNaN(hn::Set(d, a), x));
    if constexpr (kKind == leaky_relu) return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, hn::Set(d, a)), x);
    if constexpr (kKind == sigmoid) return Sigmoid(d, x);
    if constexpr (kKind == silu) return Silu(d, x);
    if constexpr (kKind == tanh) return Tanh(d, x);
    if constexpr (kKind == gelu_erf) return GeluErf(d, x);
    if constexpr (kKind == gelu_tanh) return GeluTanh(d, x);
    if constexpr (kKind == hard_sigmoid) return HardSigmoid(d, x, a, b);
    if constexpr (kKind == hard_swish) return HardSwish(d, x, a, b);
  }
};

/// Calls f(op) with the ActivationOp of `act`: the switch is outside the loop in f, and each kind gets its own loop.
/// VisitActivation(act, [&](auto op) HWY_ATTR { for (…) Store(op(d, Load(d, p)), d, p); });
template <class F>
HWY_INLINE auto VisitActivation(const Activation& act, const F& f) {
  using enum Activation::Kind;
  switch (act.kind) {
    case relu:
      return f(ActivationOp<relu>{act.a, act.b});
    case clip:
      return f(ActivationOp<clip>{act.a, act.b});
    case leaky_relu:
      return f(ActivationOp<leaky_relu>{act.a, act.b});
    case sigmoid:
      return f(ActivationOp<sigmoid>{act.a, act.b});
    case silu:
      return f(ActivationOp<silu>{act.a, act.b});
    case tanh:
      return f(ActivationOp<tanh>{act.a, act.b});
    case gelu_erf:
      return f(ActivationOp<gelu_erf>{act.a, act.b});
    case gelu_tanh:
      return f(ActivationOp<gelu_tanh>{act.a, act.b});
    case hard_sigmoid:
      return f(ActivationOp<hard_sigmoid>{act.a, act.b});
    case hard_swish:
      return f(ActivationOp<hard_swish>{act.a, act.b});
    case none:
      break;
  }
  return f(ActivationOp<none>{act.a, act.b});
}

/// Computes one vector, including the switch: for short runs, for which a loop per kind does not pay.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Activate(D d, const Activation& act, V x) {
  return VisitActivation(act, [d, x](auto op) HWY_ATTR { return op(d, x); });
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
