#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/unary_double.cc"
#include "kernels/elementwise/unary_double.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/dispatch.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

/// e^x - 1 for 0 <= x <= 40, x = k·ln 2 + r with |r| <= ln 2 / 2: 2^k·(e^r - 1) + (2^k - 1).
HWY_INLINE V expm1(D d, V x) {
  // 1/n! for n = 14 down to 2. The polynomial's error is below 2^-56 of its value.
  constexpr double kFactors[] = {1.1470745597729725e-11,
                                 1.6059043836821613e-10,
                                 2.08767569878681e-09,
                                 2.505210838544172e-08,
                                 2.755731922398589e-07,
                                 2.7557319223985893e-06,
                                 2.48015873015873e-05,
                                 1.984126984126984e-04,
                                 1.388888888888889e-03,
                                 8.333333333333333e-03,
                                 4.1666666666666664e-02,
                                 1.6666666666666666e-01,
                                 0.5};
  const hn::RebindToSigned<D> di;
  // Adding 1.5·2^52 leaves the integer k in the last bits.
  const V shift = hn::Set(d, 6755399441055744.0);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.4426950408889634), shift), k = hn::Sub(shifted, shift);
  const V r =
      hn::NegMulAdd(k, hn::Set(d, 1.9082149292705877e-10), hn::NegMulAdd(k, hn::Set(d, 0.693147180369123816490), x));
  V sum = hn::Set(d, kFactors[0]);
  for (size_t i = 1; i < std::size(kFactors); ++i) sum = hn::MulAdd(sum, r, hn::Set(d, kFactors[i]));
  const V small = hn::MulAdd(hn::Mul(r, r), sum, r);
  const auto exponent = hn::ShiftLeft<52>(hn::Add(hn::BitCast(di, shifted), hn::Set(di, 1023)));
  const V scale = hn::BitCast(d, exponent);
  return hn::MulAdd(scale, small, hn::Sub(scale, hn::Set(d, 1.0)));
}

struct SqrtOp {
  HWY_INLINE V operator()(D, V x) const { return hn::Sqrt(x); }
};
struct SignOp {
  HWY_INLINE V operator()(D d, V x) const {
    const V nonzero = hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(hn::Set(d, 1.0), x));
    return hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), nonzero);
  }
};
/// n/(n + 2) with n = e^2|x| - 1; from 20 on, 1 is nearest.
struct TanhOp {
  HWY_INLINE V operator()(D d, V x) const {
    const V n = expm1(d, hn::Min(hn::Abs(hn::Add(x, x)), hn::Set(d, 40.0)));
    const V y = hn::CopySign(hn::Div(n, hn::Add(n, hn::Set(d, 2.0))), x);
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};

template <class Op>
void apply(const double* x, double* y, size_t n) {
  const D d;
  const Op op;
  constexpr size_t kLanes = hn::MaxLanes(d);
  for (size_t i = 0; i < n; i += kLanes) {
    const size_t left = n - i;
    const V v = op(d, left < kLanes ? LoadFirst(d, x + i, left) : hn::LoadU(d, x + i));
    left < kLanes ? StoreFirst(d, v, y + i, left) : hn::StoreU(v, d, y + i);
  }
}

}  // namespace

void unary_double_block(UnaryDouble f, const double* x, double* y, size_t n) {
  switch (f) {
    case UnaryDouble::sqrt:
      return apply<SqrtOp>(x, y, n);
    case UnaryDouble::sign:
      return apply<SignOp>(x, y, n);
    case UnaryDouble::tanh:
      return apply<TanhOp>(x, y, n);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void unary(UnaryDouble f, std::span<const double> x, std::span<double> y, const Parallel& par) noexcept {
  const auto block = RETORT_SELECT(unary_double_block);
  for_chunks(par, x.size(),
             [&](size_t begin, size_t end) { block(f, x.data() + begin, y.data() + begin, end - begin); });
}

}  // namespace retort::kernels
#endif
