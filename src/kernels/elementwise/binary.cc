#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/binary.cc"
#include "kernels/elementwise/binary.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/dispatch.h"
#include "kernels/elementwise/pair_run.h"
#include "kernels/elementwise/simd_trig.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

template <Binary kOp>
HWY_INLINE V compute(D d, V a, V b) {
  using enum Binary;
  if constexpr (kOp == add) return hn::Add(a, b);
  if constexpr (kOp == sub) return hn::Sub(a, b);
  if constexpr (kOp == mul) return hn::Mul(a, b);
  if constexpr (kOp == div) return hn::Div(a, b);
  // MinKeepNaN keeps only a NaN of its second argument.
  if constexpr (kOp == min) return hn::IfThenElse(hn::IsNaN(a), a, MinKeepNaN(a, b));
  if constexpr (kOp == max) return hn::IfThenElse(hn::IsNaN(a), a, MaxKeepNaN(a, b));
  if constexpr (kOp == pow) return Pow(d, a, b);
  if constexpr (kOp == prelu) return hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Mul(a, b), a);
}

template <size_t kUnroll, class Load1, class Load2, class Op>
HWY_INLINE void loop(const Load1& a, const Load2& b, const Op& op, float* y, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  if constexpr (kUnroll == 4) {
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      const V y0 = op(a(i), b(i)), y1 = op(a(i + lanes), b(i + lanes));
      const V y2 = op(a(i + 2 * lanes), b(i + 2 * lanes)), y3 = op(a(i + 3 * lanes), b(i + 3 * lanes));
      hn::StoreU(y0, d, y + i);
      hn::StoreU(y1, d, y + i + lanes);
      hn::StoreU(y2, d, y + i + 2 * lanes);
      hn::StoreU(y3, d, y + i + 3 * lanes);
    }
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(op(a(i), b(i)), d, y + i);
  if (i < n) StoreFirst(d, op(a.first(i, n - i), b.first(i, n - i)), y + i, n - i);
}

struct FromMemory {
  const float* p;
  HWY_INLINE V operator()(size_t i) const { return hn::LoadU(D(), p + i); }
  HWY_INLINE V first(size_t i, size_t n) const { return LoadFirst(D(), p + i, n); }
};
struct Repeated {
  V v;
  HWY_INLINE V operator()(size_t) const { return v; }
  HWY_INLINE V first(size_t, size_t) const { return v; }
};

template <Binary kOp>
struct Compute {
  HWY_INLINE V operator()(V a, V b) const { return compute<kOp>(D(), a, b); }
};

// Exponents that are common in models: squares and roots need no logarithm.
HWY_INLINE bool pow_of_scalar(const float* a, float exponent, float* y, size_t n) {
  const FromMemory from{a};
  const Repeated none{hn::Zero(D())};
  if (exponent == 2) {
    loop<1>(
        from, none, [](V x, V) HWY_ATTR { return hn::Mul(x, x); }, y, n);
  } else if (exponent == 3) {
    loop<1>(
        from, none, [](V x, V) HWY_ATTR { return hn::Mul(hn::Mul(x, x), x); }, y, n);
  } else if (exponent == 0.5f) {
    // pow(-0, ½) = +0 and pow(-inf, ½) = inf, unlike sqrt.
    const V inf = hn::Set(D(), std::numeric_limits<float>::infinity());
    const auto root = [inf](V x, V zero)
                          HWY_ATTR { return hn::IfThenElse(hn::Eq(hn::Abs(x), inf), inf, hn::Sqrt(hn::Add(x, zero))); };
    loop<1>(from, none, root, y, n);
  } else {
    return false;
  }
  return true;
}

template <Binary kOp>
void run(const PairRun<float>& r) {
  const D d;
  const Compute<kOp> op;
  constexpr size_t kUnroll = kOp == Binary::pow ? 1 : 4;
  if (r.a_step && r.b_step) return loop<kUnroll>(FromMemory{r.a}, FromMemory{r.b}, op, r.y, r.n);
  if (r.b_step) return loop<kUnroll>(Repeated{hn::Set(d, *r.a)}, FromMemory{r.b}, op, r.y, r.n);
  if constexpr (kOp == Binary::pow) {
    if (pow_of_scalar(r.a, *r.b, r.y, r.n)) return;
  }
  loop<kUnroll>(FromMemory{r.a}, Repeated{hn::Set(d, *r.b)}, op, r.y, r.n);
}

template <typename T>
T int_pow(T base, T exponent) {
  using U = std::make_unsigned_t<T>;
  if (exponent < 0) {
    if (base == -1) return exponent % 2 ? -1 : 1;
    return base == 1;
  }
  U result = 1;
  for (U b = U(base), e = U(exponent); e; e >>= 1, b *= b) {
    if (e & 1) result *= b;
  }
  return T(result);
}

template <Binary kOp>
double compute_one(double a, double b) {
  using enum Binary;
  if constexpr (kOp == add) return a + b;
  if constexpr (kOp == sub) return a - b;
  if constexpr (kOp == mul) return a * b;
  if constexpr (kOp == div) return a / b;
  if constexpr (kOp == min) return a != a ? a : a < b ? a : b;
  if constexpr (kOp == max) return a != a ? a : a > b ? a : b;
  if constexpr (kOp == prelu) return a < 0 ? a * b : a;
  return std::pow(a, b);
}

// 32-bit integers have an exact quotient in double, which vectors divide.
template <typename T>
T divide(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if constexpr (sizeof(T) == 4) {
    const T safe = b == 0 || b == -1 ? 1 : b;
    const T quotient = T(double(a) / double(safe));
    return b == 0 ? 0 : b == -1 ? T(U(0) - U(a)) : quotient;
  }
  return b == 0 ? 0 : b == -1 ? T(U(0) - U(a)) : a / b;
}

template <Binary kOp, std::integral T>
T compute_one(T a, T b) {
  using U = std::make_unsigned_t<T>;
  using enum Binary;
  if constexpr (kOp == add) return T(U(a) + U(b));
  if constexpr (kOp == sub) return T(U(a) - U(b));
  if constexpr (kOp == mul) return T(U(a) * U(b));
  if constexpr (kOp == div) return divide(a, b);
  if constexpr (kOp == min) return b < a ? b : a;
  if constexpr (kOp == max) return a < b ? b : a;
  if constexpr (kOp == pow) return int_pow(a, b);
  if constexpr (kOp == prelu) return a < 0 ? T(U(a) * U(b)) : a;
}

// Plain loops: the compiler vectorises them at each level. The run is a copy, which results of 64 bits do not alias.
template <Binary kOp, typename T>
void run_plain(PairRun<T> r) {
  if (r.a_step && r.b_step) {
    for (size_t i = 0; i < r.n; ++i) r.y[i] = compute_one<kOp>(r.a[i], r.b[i]);
  } else if (r.b_step) {
    const T scalar = *r.a;
    for (size_t i = 0; i < r.n; ++i) r.y[i] = compute_one<kOp>(scalar, r.b[i]);
  } else {
    const T scalar = *r.b;
    for (size_t i = 0; i < r.n; ++i) r.y[i] = compute_one<kOp>(r.a[i], scalar);
  }
}

using AllOps = std::make_index_sequence<size_t(Binary::prelu) + 1>;

template <typename T, size_t... I>
void select_plain(Binary op, const PairRun<T>& r, std::index_sequence<I...>) {
  constexpr std::array kRuns{&run_plain<Binary(I), T>...};
  kRuns[size_t(op)](r);
}
template <size_t... I>
void select(Binary op, const PairRun<float>& r, std::index_sequence<I...>) {
  constexpr std::array kRuns{&run<Binary(I)>...};
  kRuns[size_t(op)](r);
}

}  // namespace

void binary_run_f32(Binary op, const PairRun<float>& r) { select(op, r, AllOps()); }
void binary_run_f64(Binary op, const PairRun<double>& r) { select_plain(op, r, AllOps()); }
void binary_run_i32(Binary op, const PairRun<int32_t>& r) { select_plain(op, r, AllOps()); }
void binary_run_i64(Binary op, const PairRun<int64_t>& r) { select_plain(op, r, AllOps()); }

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void binary(Binary op, const float* a, const float* b, float* y, const BroadcastPlan<2>& plan,
            const Parallel& par) noexcept {
  spread_pairs(RETORT_SELECT(binary_run_f32), op, {a, 1, b, 1, y, plan.count}, plan, par);
}
void binary(Binary op, const double* a, const double* b, double* y, const BroadcastPlan<2>& plan,
            const Parallel& par) noexcept {
  spread_pairs(RETORT_SELECT(binary_run_f64), op, {a, 1, b, 1, y, plan.count}, plan, par);
}
void binary(Binary op, const int32_t* a, const int32_t* b, int32_t* y, const BroadcastPlan<2>& plan,
            const Parallel& par) noexcept {
  spread_pairs(RETORT_SELECT(binary_run_i32), op, {a, 1, b, 1, y, plan.count}, plan, par);
}
void binary(Binary op, const int64_t* a, const int64_t* b, int64_t* y, const BroadcastPlan<2>& plan,
            const Parallel& par) noexcept {
  spread_pairs(RETORT_SELECT(binary_run_i64), op, {a, 1, b, 1, y, plan.count}, plan, par);
}

}  // namespace retort::kernels
#endif
