#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/unary.cc"
#include "kernels/elementwise/unary.h"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/dispatch.h"
#include "kernels/elementwise/blocks-inl.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/elementwise/simd_trig.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// e^x - 1 for x <= 0.
HWY_INLINE V expm1_of_negative(D d, V x) {
  const auto e = detail::ExpReduce<127>(d, MaxKeepNaN(hn::Set(d, -80.0f), x));
  const V scale = detail::ExpScale(d, e.biased);
  return hn::MulAdd(scale, e.minus_one, hn::Sub(scale, hn::Set(d, 1.0f)));
}

/// max(x, 0) + log(1 + w), w = e^-|x|; log(1 + w) = w·log(u)/(u - 1) with u = 1 + w rounded undoes the rounding of u.
HWY_INLINE V softplus(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V w = ExpNonPositive(d, hn::Neg(hn::Abs(x)));
  const V u = hn::Add(one, w);
  const V log = hn::Div(hn::Mul(w, Log(d, u)), hn::Sub(u, one));
  return hn::Add(MaxKeepNaN(hn::Zero(d), x), hn::IfThenElse(hn::Eq(u, one), w, log));
}

/// x·tanh(softplus(x)) = x·n/(n + 2), n = w·(w + 2), w = e^x; 1 from 20 on, where w² would only exceed the range.
HWY_INLINE V mish(D d, V x) {
  const V two = hn::Set(d, 2.0f);
  const V w = Exp(d, MinKeepNaN(hn::Set(d, 20.0f), x));
  const V n = hn::Mul(w, hn::Add(w, two));
  return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
}

HWY_INLINE V sign(D d, V x) {
  const V one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  const V nonzero = hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(one, x));
  return hn::IfThenZeroElse(hn::Eq(x, zero), nonzero);
}

template <Unary::Kind kKind>
struct Function {
  float a, b;
  HWY_INLINE V operator()(D d, V x) const {
    using enum Unary::Kind;
    if constexpr (kKind == neg) return hn::Neg(x);
    if constexpr (kKind == abs) return hn::Abs(x);
    if constexpr (kKind == sqrt) return hn::Sqrt(x);
    if constexpr (kKind == reciprocal) return hn::Div(hn::Set(d, 1.0f), x);
    if constexpr (kKind == exp) return Exp(d, x);
    if constexpr (kKind == log) return Log(d, x);
    if constexpr (kKind == sin) return Sin(d, x);
    if constexpr (kKind == cos) return Cos(d, x);
    if constexpr (kKind == asin) return Asin(d, x);
    if constexpr (kKind == acos) return Acos(d, x);
    if constexpr (kKind == atan) return Atan(d, x);
    if constexpr (kKind == erf) return Erf(d, x);
    if constexpr (kKind == floor) return hn::Floor(x);
    if constexpr (kKind == ceil) return hn::Ceil(x);
    if constexpr (kKind == round) return hn::Round(x);
    if constexpr (kKind == Unary::Kind::sign) return HWY_NAMESPACE::sign(d, x);
    if constexpr (kKind == elu || kKind == celu || kKind == selu) {
      const V scale = hn::Set(d, a);
      const V below = hn::Mul(scale, expm1_of_negative(d, kKind == celu ? hn::Div(x, scale) : x));
      const V y = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below);
      return kKind == selu ? hn::Mul(hn::Set(d, b), y) : y;
    }
    if constexpr (kKind == Unary::Kind::softplus) return HWY_NAMESPACE::softplus(d, x);
    if constexpr (kKind == Unary::Kind::mish) return HWY_NAMESPACE::mish(d, x);
    if constexpr (kKind == scaled_silu) return ScaledSilu(d, x, a);
  }
};

}  // namespace

void unary_block(const Unary& f, const float* x, float* y, size_t n) {
  constexpr auto kFunctions = []<size_t... I>(std::index_sequence<I...>) {
    return std::array{&run_blocks<Function<Unary::Kind(I)>>...};
  }
  (std::make_index_sequence<size_t(Unary::Kind::scaled_silu) + 1>());
  BoundFunction{kFunctions[size_t(f.kind)], f.a, f.b}(x, y, n);
}

void activate_block(const Activation& activation, const float* x, float* y, size_t n) {
  function_of(activation)(x, y, n);
}

// Copies part of a result past the caches, and brings the elements that are read next into them; y begins at a cache
// line. The caller calls FlushStream().
void stream_block(const float* x, const float* next, float* y, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hwy::Prefetch(next + i);
    hn::Stream(hn::LoadU(d, x + i), d, y + i);
  }
  for (; i < n; ++i) y[i] = x[i];
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

// From this size on, results are written past the caches, which they would not fit into: a plain store first reads the
// line that it overwrites. On a Zen 5 with 32 MiB of last cache, Neg of 100 MiB takes 2.1 ms instead of 2.8 with two
// threads, 3.9 instead of 5.0 with one; tasks of 64 KiB would take 2.8 with two.
constexpr size_t kStreamed = size_t(32) << 20;
constexpr size_t kStreamedChunk = size_t(256) << 10;  // elements
constexpr size_t kLine = 64;

// Calls block(begin, to, n), which writes the elements from `begin` on to `to`, for all of [begin, end).
template <class Block>
void stream(const float* x, float* y, size_t begin, size_t end, const Block& block) {
  constexpr size_t kPart = 1024;  // 4 KiB, which stay in the first cache
  alignas(kLine) float part[kPart];
  const auto copy = RETORT_SELECT(stream_block);
  for (; begin < end; begin += kPart) {
    const size_t n = std::min(kPart, end - begin);
    block(begin, part, n);
    copy(part, x + begin + n, y + begin, n);
  }
  hwy::FlushStream();
}

template <class Block>
void spread(std::span<const float> x, std::span<float> y, const Parallel& par, const Block& block) {
  const bool in_lines = reinterpret_cast<uintptr_t>(y.data()) % kLine == 0;
  if (y.size_bytes() < kStreamed || !in_lines || x.data() == y.data()) {
    return for_chunks(par, x.size(), [&](size_t begin, size_t end) { block(begin, y.data() + begin, end - begin); });
  }
  for_chunks(
      par, x.size(), [&](size_t begin, size_t end) { stream(x.data(), y.data(), begin, end, block); }, kStreamedChunk);
}

}  // namespace

void unary(const Unary& function, std::span<const float> x, std::span<float> y, const Parallel& par) noexcept {
  const auto block = RETORT_SELECT(unary_block);
  spread(x, y, par, [&](size_t begin, float* to, size_t n) { block(function, x.data() + begin, to, n); });
}

void activate(const Activation& activation, std::span<const float> x, std::span<float> y,
              const Parallel& par) noexcept {
  const auto block = RETORT_SELECT(activate_block);
  spread(x, y, par, [&](size_t begin, float* to, size_t n) { block(activation, x.data() + begin, to, n); });
}

}  // namespace retort::kernels
#endif
