#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/codes.cc"
#include "kernels/elementwise/codes.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/conv/codes_finish-inl.h"
#include "kernels/dispatch.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::ScalableTag<int32_t>;
using Float = hn::Vec<FloatTag>;
constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);

/// round(x / scale). The quotient is replaced by a product with `factor`, which is 1 / scale, where both round to the
/// same number: everywhere but close to the middle between two numbers, and where the product is not finite. Large
/// numbers may differ, but exceed any code.
HWY_INLINE Float rounded_quotient(Float x, Float scale, Float factor) {
  const FloatTag d;
  const Float product = hn::Mul(x, factor), whole = hn::Round(product);
  // A product below 512 has an error below 512 · 2^-22.
  const auto far = hn::Le(hn::Abs(hn::Sub(product, whole)), hn::Set(d, 0.5f - 0x1p-12f));
  if (HWY_LIKELY(hn::AllTrue(d, far))) return whole;
  return hn::Round(hn::Div(x, scale));
}

// Codes as 32-bit integers.
template <typename T>
HWY_INLINE hn::Vec<IntTag> codes(Float quotient, Float zero) {
  const FloatTag d;
  const Float low = hn::Set(d, float(std::numeric_limits<T>::lowest()));
  const Float high = hn::Set(d, float(std::numeric_limits<T>::max()));
  const Float code = hn::Add(quotient, zero);
  const Float above = hn::IfThenElse(hn::Gt(code, low), code, low);  // NaN is not above
  return hn::ConvertTo(IntTag(), hn::IfThenElse(hn::Lt(above, high), above, high));
}

/// Four vectors of codes of the same scale and zero point, as rounded_quotient() and codes() make them one by one.
template <typename T>
HWY_INLINE void quantize_four(const float* x, Float scale, Float factor, Float zero, T* y) {
  const FloatTag d;
  const hn::Rebind<T, FloatTag> narrow;
  const Float low = hn::Set(d, float(std::numeric_limits<T>::lowest()));
  const Float high = hn::Set(d, float(std::numeric_limits<T>::max()));
  Float whole[4];
  auto far = hn::Eq(low, low);
#pragma GCC unroll 4
  for (size_t v = 0; v < 4; ++v) {
    const Float product = hn::Mul(hn::LoadU(d, x + v * kLanes), factor);
    whole[v] = hn::Round(product);
    far = hn::And(far, hn::Le(hn::Abs(hn::Sub(product, whole[v])), hn::Set(d, 0.5f - 0x1p-12f)));
  }
  const bool certain = hn::AllTrue(d, far);  // so no number is NaN or infinite
#pragma GCC unroll 4
  for (size_t v = 0; v < 4; ++v) {
    const auto code = HWY_LIKELY(certain)
                          ? hn::ConvertTo(IntTag(), hn::Min(hn::Max(hn::Add(whole[v], zero), low), high))
                          : codes<T>(hn::Round(hn::Div(hn::LoadU(d, x + v * kLanes), scale)), zero);
    hn::StoreU(hn::DemoteTo(narrow, code), narrow, y + v * kLanes);
  }
}

template <typename T>
void quantize_run(const QuantizeRun<T>& r) {
  const FloatTag d;
  const hn::Rebind<T, FloatTag> narrow;
  const auto scale = [&](size_t i) HWY_ATTR { return r.step ? hn::LoadU(d, r.scale + i) : hn::Set(d, *r.scale); };
  const auto zero = [&](size_t i) HWY_ATTR {
    return hn::ConvertTo(d, r.step ? hn::LoadU(IntTag(), r.zero + i) : hn::Set(IntTag(), *r.zero));
  };
  size_t i = 0;
  if (r.step == 0) {
    const Float one = hn::Set(d, *r.scale), factor = hn::Set(d, 1 / *r.scale), to = zero(0);
    for (; i + 4 * kLanes <= r.n; i += 4 * kLanes) quantize_four(r.x + i, one, factor, to, r.y + i);
    for (; i + kLanes <= r.n; i += kLanes) {
      const Float quotient = rounded_quotient(hn::LoadU(d, r.x + i), one, factor);
      hn::StoreU(hn::DemoteTo(narrow, codes<T>(quotient, to)), narrow, r.y + i);
    }
  }
  for (; i + kLanes <= r.n; i += kLanes) {
    const Float quotient = hn::Round(hn::Div(hn::LoadU(d, r.x + i), scale(i)));
    hn::StoreU(hn::DemoteTo(narrow, codes<T>(quotient, zero(i))), narrow, r.y + i);
  }
  for (; i < r.n; ++i) {
    const size_t k = i * r.step;
    r.y[i] = T(hn::GetLane(codes<T>(hn::Round(hn::Set(d, r.x[i] / r.scale[k])), hn::Set(d, float(r.zero[k])))));
  }
}

/// The real numbers of a vector of bytes, in the order of pack_bytes(): part v has, of each 16 codes, those from 4 v on.
struct Reals {
  Bytes flip;
  Sums zero;
  Float scale;
  explicit Reals(const CodeRun& run)
      : flip(hn::Set(ByteTag(), run.is_signed ? 0x80 : 0)),
        zero(hn::Set(SumTag(), run.zero + (run.is_signed ? 128 : 0))),
        scale(hn::Set(FloatTag(), run.scale)) {}
  HWY_INLINE void load(const CodeRun& run, size_t i, Float (&to)[4]) const {
    const ByteTag d;
    const hn::Repartition<uint16_t, ByteTag> pairs;
    const Bytes x = hn::Xor(hn::LoadU(d, static_cast<const uint8_t*>(run.codes) + i), flip), none = hn::Zero(d);
    const auto low = hn::BitCast(pairs, hn::InterleaveLower(d, x, none));
    const auto high = hn::BitCast(pairs, hn::InterleaveUpper(d, x, none));
    to[0] = real(hn::InterleaveLower(pairs, low, hn::Zero(pairs)));
    to[1] = real(hn::InterleaveUpper(pairs, low, hn::Zero(pairs)));
    to[2] = real(hn::InterleaveLower(pairs, high, hn::Zero(pairs)));
    to[3] = real(hn::InterleaveUpper(pairs, high, hn::Zero(pairs)));
  }

 private:
  template <class V>
  HWY_INLINE Float real(V code) const {
    return hn::Mul(hn::ConvertTo(FloatTag(), hn::Sub(hn::BitCast(SumTag(), code), zero)), scale);
  }
};

template <bool kSigned>
void sum_codes(const CodeRun& a, const CodeRun& b, const CodeRun& y, size_t n, uint8_t* to) {
  const FloatTag d;
  const Float scale = hn::Set(d, y.scale), factor = hn::Set(d, 1 / y.scale);
  const Pairs zero = hn::Set(PairTag(), int16_t(y.zero));
  const Reals of_a(a), of_b(b);
  for (size_t i = 0; i + HWY_MAX_BYTES <= n; i += HWY_MAX_BYTES) {
    Float x[4], other[4];
    of_a.load(a, i, x);
    of_b.load(b, i, other);
    Sums code[4];
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) code[v] = nearest(rounded_quotient(hn::Add(x[v], other[v]), scale, factor));
    hn::StoreU(pack_bytes<kSigned>(pack_pairs(code[0], code[1], zero), pack_pairs(code[2], code[3], zero)), ByteTag(),
               to + i);
  }
}

}  // namespace

void sum_of_codes(const CodeRun& a, const CodeRun& b, const CodeRun& y, size_t n) noexcept {
  auto* to = static_cast<uint8_t*>(const_cast<void*>(y.codes));
  y.is_signed ? sum_codes<true>(a, b, y, n, to) : sum_codes<false>(a, b, y, n, to);
}

void quantize_u8(const QuantizeRun<uint8_t>& run) noexcept { quantize_run(run); }
void quantize_i8(const QuantizeRun<int8_t>& run) noexcept { quantize_run(run); }

std::pair<float, float> find_range(const float* x, size_t n) noexcept {
  const FloatTag d;
  constexpr size_t kSets = 4;  // an operation waits for the one before it in its set
  Float low[kSets], high[kSets];
  for (size_t s = 0; s < kSets; ++s) low[s] = high[s] = hn::Zero(d);
  const auto add = [&](Float v, size_t s) HWY_ATTR {
    low[s] = hn::IfThenElse(hn::Lt(v, low[s]), v, low[s]);
    high[s] = hn::IfThenElse(hn::Gt(v, high[s]), v, high[s]);
  };
  size_t i = 0;
  for (; i + kSets * kLanes <= n; i += kSets * kLanes) {
#pragma GCC unroll 4
    for (size_t s = 0; s < kSets; ++s) add(hn::LoadU(d, x + i + s * kLanes), s);
  }
  for (; i + kLanes <= n; i += kLanes) add(hn::LoadU(d, x + i), 0);
  for (size_t s = 1; s < kSets; ++s) {
    low[0] = hn::Min(low[0], low[s]);
    high[0] = hn::Max(high[0], high[s]);
  }
  std::pair<float, float> range{hn::GetLane(hn::MinOfLanes(d, low[0])), hn::GetLane(hn::MaxOfLanes(d, high[0]))};
  for (; i < n; ++i) range = {std::min(range.first, x[i]), std::max(range.second, x[i])};
  return range;
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void quantize(const QuantizeRun<uint8_t>& run) noexcept { RETORT_SELECT(quantize_u8)(run); }
void quantize(const QuantizeRun<int8_t>& run) noexcept { RETORT_SELECT(quantize_i8)(run); }
void add_codes(const CodeRun& a, const CodeRun& b, const CodeRun& y, size_t n) noexcept {
  const auto add = RETORT_SELECT(sum_of_codes);
  constexpr size_t kMost = 64;  // bytes of a vector
  add(a, b, y, n);
  const size_t rest = n % kMost, first = n - rest;
  if (rest == 0) return;
  uint8_t few[3][kMost] = {};
  std::memcpy(few[0], static_cast<const uint8_t*>(a.codes) + first, rest);
  std::memcpy(few[1], static_cast<const uint8_t*>(b.codes) + first, rest);
  const auto part = [&](CodeRun run, size_t i) { return run.codes = few[i], run; };
  add(part(a, 0), part(b, 1), part(y, 2), kMost);
  std::memcpy(static_cast<uint8_t*>(const_cast<void*>(y.codes)) + first, few[2], rest);
}
std::pair<float, float> range_with_zero(const float* x, size_t n) noexcept { return RETORT_SELECT(find_range)(x, n); }

}  // namespace retort::kernels
#endif
