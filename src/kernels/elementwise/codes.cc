#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/codes.cc"
#include "kernels/elementwise/codes.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/conv/codes_finish-inl.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/codes_tile.h"
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
class FourVectors {
 public:
  FourVectors(float scale, int32_t zero, bool is_signed)
      : scale_(hn::Set(FloatTag(), scale)), factor_(hn::Set(FloatTag(), 1 / scale)), range_(zero, is_signed) {
    for (size_t i = 0; i < kLanes; ++i) order_[i] = uint32_t(i % (kLanes / 4) * 4 + i / (kLanes / 4));
  }
  HWY_INLINE Bytes operator()(const float* x) const {
    const FloatTag d;
    const Float far = hn::Set(d, 0.5f - 0x1p-12f);
    Sums code[4];
    auto certain = hn::Eq(far, far);
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) {
      const Float product = hn::Mul(hn::LoadU(d, x + v * kLanes), factor_);
      certain = hn::And(certain, hn::Le(hn::Abs(hn::Sub(product, hn::Round(product))), far));
      code[v] = nearest(product);
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, certain))) {  // also if a number is NaN or infinite
#pragma GCC unroll 4
      for (size_t v = 0; v < 4; ++v) code[v] = nearest(hn::Div(hn::LoadU(d, x + v * kLanes), scale_));
    }
    const Bytes packed = pack_bytes(pack_pairs(code[0], code[1], range_), pack_pairs(code[2], code[3], range_), range_);
    if constexpr (kLanes == 4) return packed;  // in order
    const hn::Repartition<uint32_t, ByteTag> fours;
    const auto order = hn::SetTableIndices(fours, order_);
    return hn::BitCast(ByteTag(), hn::TableLookupLanes(hn::BitCast(fours, packed), order));
  }

 private:
  Float scale_, factor_;
  CodeRange range_;
  uint32_t order_[kLanes];  ///< of the groups of four codes, which pack_bytes() makes within each 128 bits
};

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
    const FourVectors four(*r.scale, *r.zero, std::is_signed_v<T>);
    for (; i + 4 * kLanes <= r.n; i += 4 * kLanes)
      hn::StoreU(four(r.x + i), ByteTag(), reinterpret_cast<uint8_t*>(r.y + i));
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

/// With the limits of the codes as numbers, so that signed and unsigned ones share the code: a code is the low half of an
/// integer. Quotients are too large for rounded_quotient(), whose products are uncertain by a part of them.
void quantize_words(const QuantizeRun<uint16_t>& r, bool is_signed) {
  const FloatTag d;
  const hn::Rebind<uint16_t, FloatTag> narrow;
  const Float low = hn::Set(d, is_signed ? -32768.0f : 0.0f), high = hn::Set(d, is_signed ? 32767.0f : 65535.0f);
  const auto codes = [&](Float x, Float scale, hn::Vec<IntTag> zero) HWY_ATTR {
    const Float code = hn::Add(hn::Round(hn::Div(x, scale)), hn::ConvertTo(d, zero));
    const Float above = hn::IfThenElse(hn::Gt(code, low), code, low);  // NaN is not above
    const auto held = hn::ConvertTo(IntTag(), hn::IfThenElse(hn::Lt(above, high), above, high));
    return hn::TruncateTo(narrow, hn::BitCast(hn::RebindToUnsigned<IntTag>(), held));
  };
  size_t i = 0;
  for (; i + kLanes <= r.n; i += kLanes) {
    const Float scale = r.step ? hn::LoadU(d, r.scale + i) : hn::Set(d, *r.scale);
    const auto zero = r.step ? hn::LoadU(IntTag(), r.zero + i) : hn::Set(IntTag(), *r.zero);
    hn::StoreU(codes(hn::LoadU(d, r.x + i), scale, zero), narrow, r.y + i);
  }
  for (; i < r.n; ++i) {
    const size_t k = i * r.step;
    r.y[i] = hn::GetLane(codes(hn::Set(d, r.x[i]), hn::Set(d, r.scale[k]), hn::Set(IntTag(), r.zero[k])));
  }
}

/// A vector of codes in four parts, in the order of pack_bytes(): part v has, of each 16 codes, those from 4 v on.
using Parts = Float[4];

/// Signed codes become unsigned ones, 128 above.
HWY_INLINE void to_parts(Bytes codes, Bytes flip, Parts& to) {
  const ByteTag d;
  const hn::Repartition<uint16_t, ByteTag> pairs;
  const Bytes x = hn::Xor(codes, flip), none = hn::Zero(d);
  const auto number = [](auto code) HWY_ATTR { return hn::ConvertTo(FloatTag(), hn::BitCast(SumTag(), code)); };
  const auto low = hn::BitCast(pairs, hn::InterleaveLower(d, x, none));
  const auto high = hn::BitCast(pairs, hn::InterleaveUpper(d, x, none));
  to[0] = number(hn::InterleaveLower(pairs, low, hn::Zero(pairs)));
  to[1] = number(hn::InterleaveUpper(pairs, low, hn::Zero(pairs)));
  to[2] = number(hn::InterleaveLower(pairs, high, hn::Zero(pairs)));
  to[3] = number(hn::InterleaveUpper(pairs, high, hn::Zero(pairs)));
}
float unsigned_zero(const CodeRun& run) { return float(run.zero + (run.is_signed ? 128 : 0)); }
Bytes flip_of(const CodeRun& run) { return hn::Set(ByteTag(), uint8_t(run.is_signed ? 0x80 : 0)); }

/// Whether products of two scales are far from numbers with fewer digits.
bool is_usual(float scale) { return scale >= 0x1p-60f && scale <= 0x1p60f; }

/// The sum of two codes divided by the scale of the result, as the float operators compute it.
class FloatSum {
 public:
  FloatSum(const CodeRun& a, const CodeRun& b, const CodeRun& y)
      : a_zero_(set(unsigned_zero(a))),
        b_zero_(set(unsigned_zero(b))),
        a_scale_(set(a.scale)),
        b_scale_(set(b.scale)),
        scale_(set(y.scale)),
        factor_(set(1 / y.scale)) {}
  HWY_INLINE Sums rounded(Float a, Float b) const {
    const Float sum = hn::Add(hn::Mul(hn::Sub(a, a_zero_), a_scale_), hn::Mul(hn::Sub(b, b_zero_), b_scale_));
    return nearest(rounded_quotient(sum, scale_, factor_));
  }

 private:
  static Float set(float x) { return hn::Set(FloatTag(), x); }
  Float a_zero_, b_zero_, a_scale_, b_scale_, scale_, factor_;
};

/// All that is the same for all elements of a sum. The quick way is a sum of integers, whose unit is 2^-shift. With m, the
/// sum of both quotients of scales, below 2^(23 - shift), no sum exceeds 255 · 2^23 units. The rounded quotients have an
/// error of at most 255 units, the constant one of 128. FloatSum has one of at most 3 · 2^-24 · 255 m, below 383 units.
/// So both round to the same integer where the quick sum is 1024 units or more from the middle between two.
struct CodesSum {
  static constexpr int kLow = 8;  ///< bits of the second part of a factor
  static constexpr int32_t kMargin = 1024;
  FloatSum exact;
  Bytes a_flip, b_flip;
  CodeRange range;
  bool usable;
  int shift = 22;
  Pairs high, low;  ///< factors of a pair of codes, in two parts
  Sums constant;
  CodesSum(const CodeRun& a, const CodeRun& b, const CodeRun& y)
      : exact(a, b, y), a_flip(flip_of(a)), b_flip(flip_of(b)), range(y.zero, y.is_signed) {
    constexpr double kMost = 0x1p9;
    double a_factor = double(a.scale) / double(y.scale), b_factor = double(b.scale) / double(y.scale);
    usable = is_usual(a.scale) && is_usual(b.scale) && is_usual(y.scale) && a_factor + b_factor < kMost;
    if (!usable) a_factor = b_factor = 0;
    while (std::ldexp(a_factor + b_factor, shift) >= 0x7fffff) --shift;
    const auto units = [&](double x) { return int32_t(std::nearbyint(std::ldexp(x, shift))); };
    const uint32_t of_a = uint32_t(units(a_factor)), of_b = uint32_t(units(b_factor)), mask = (1 << kLow) - 1;
    high = hn::BitCast(PairTag(), hn::Set(SumTag(), int32_t(of_a >> kLow | of_b >> kLow << 16)));
    low = hn::BitCast(PairTag(), hn::Set(SumTag(), int32_t((of_a & mask) | (of_b & mask) << 16)));
    const double added = 0.5 - a_factor * unsigned_zero(a) - b_factor * unsigned_zero(b);
    constant = hn::Set(SumTag(), (units(added) + (1 << kLow) / 2 + kMargin) >> kLow);
  }

  HWY_INLINE Bytes operator()(Bytes a, Bytes b) const {
    const ByteTag d;
    const hn::RebindToUnsigned<SumTag> bits;
    const Bytes x = hn::Xor(a, a_flip), other = hn::Xor(b, b_flip), none = hn::Zero(d);
    const Bytes lower = hn::InterleaveLower(d, x, other), upper = hn::InterleaveUpper(d, x, other);
    const Bytes pairs[4] = {hn::InterleaveLower(d, lower, none), hn::InterleaveUpper(d, lower, none),
                            hn::InterleaveLower(d, upper, none), hn::InterleaveUpper(d, upper, none)};
    const auto fraction = hn::Set(bits, (1u << shift) - 1);
    auto least = fraction;
    Sums code[4];
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) {
      const Pairs pair = hn::BitCast(PairTag(), pairs[v]);
      Sums sum = constant;
      add_pair(pair, high, sum);
      sum = hn::ShiftLeft<kLow>(sum);
      add_pair(pair, low, sum);
      code[v] = hn::ShiftRightSame(sum, shift);
      least = hn::Min(least, hn::And(hn::BitCast(bits, sum), fraction));
    }
    const auto certain = hn::Gt(hn::BitCast(SumTag(), least), hn::Set(SumTag(), 2 * kMargin));
    if (HWY_UNLIKELY(!usable || !hn::AllTrue(SumTag(), certain))) {
      Parts left, right;
      to_parts(a, a_flip, left);
      to_parts(b, b_flip, right);
#pragma GCC unroll 4
      for (size_t v = 0; v < 4; ++v) code[v] = exact.rounded(left[v], right[v]);
    }
    return pack_bytes(pack_pairs(code[0], code[1], range), pack_pairs(code[2], code[3], range), range);
  }
};

/// The product of two codes divided by the scale of the result. A difference of codes and the product of two are exact,
/// so the quick way has one rounding for that of the factor and one for its product. The float operators have four, and
/// what exceeds 1024 exceeds any code: both round to the same integer where the quick number is farther than
/// 6 · 2^-24 · 1024 from the middle between two.
struct CodesProduct {
  Bytes a_flip, b_flip;
  Float a_zero, b_zero, a_scale, b_scale, scale, factor, quick;
  CodeRange range;
  bool usable;
  CodesProduct(const CodeRun& a, const CodeRun& b, const CodeRun& y)
      : a_flip(flip_of(a)),
        b_flip(flip_of(b)),
        a_zero(hn::Set(FloatTag(), unsigned_zero(a))),
        b_zero(hn::Set(FloatTag(), unsigned_zero(b))),
        a_scale(hn::Set(FloatTag(), a.scale)),
        b_scale(hn::Set(FloatTag(), b.scale)),
        scale(hn::Set(FloatTag(), y.scale)),
        factor(hn::Set(FloatTag(), 1 / y.scale)),
        range(y.zero, y.is_signed) {
    const double one = double(a.scale) * double(b.scale) / double(y.scale);
    quick = hn::Set(FloatTag(), float(one));
    usable =
        is_usual(a.scale) && is_usual(b.scale) && is_usual(y.scale) && one < 0x1p14;  // 255 · 255 times: below 2^30
  }

  HWY_INLINE Bytes operator()(Bytes a, Bytes b) const {
    const FloatTag d;
    Parts x, other;
    to_parts(a, a_flip, x);
    to_parts(b, b_flip, other);
    Sums code[4];
    Float most = hn::Zero(d);
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) {
      x[v] = hn::Sub(x[v], a_zero);
      other[v] = hn::Sub(other[v], b_zero);
      const Float product = hn::Mul(hn::Mul(x[v], other[v]), quick);
      most = hn::Max(most, hn::Abs(hn::Sub(product, hn::Round(product))));
      code[v] = nearest_small(product);
    }
    if (HWY_UNLIKELY(!usable || !hn::AllTrue(d, hn::Lt(most, hn::Set(d, 0.5f - 0x1p-11f))))) {
#pragma GCC unroll 4
      for (size_t v = 0; v < 4; ++v) {
        const Float product = hn::Mul(hn::Mul(x[v], a_scale), hn::Mul(other[v], b_scale));
        code[v] = nearest(rounded_quotient(product, scale, factor));
      }
    }
    return pack_bytes(pack_pairs(code[0], code[1], range), pack_pairs(code[2], code[3], range), range);
  }
};

template <class Op>
void each_row(const CodeRun& a, const CodeRun& b, const CodeRun& y, const CodeRows& rows) {
  const ByteTag d;
  const Op op(a, b, y);
  const auto* x = static_cast<const uint8_t*>(a.codes);
  const auto* other = static_cast<const uint8_t*>(b.codes);
  auto* to = static_cast<uint8_t*>(const_cast<void*>(y.codes));
  for (size_t row = 0; row < rows.rows; ++row) {
    // One copy of the operation for whole vectors and the rest.
    for (size_t i = 0; i < rows.columns; i += HWY_MAX_BYTES) {
      const size_t rest = rows.columns - i;
      const bool whole = rest >= HWY_MAX_BYTES;
      const Bytes left = whole ? hn::LoadU(d, x + i) : load_bytes(d, x + i, rest);
      const Bytes right = whole ? hn::LoadU(d, other + i) : load_bytes(d, other + i, rest);
      const Bytes codes = op(left, right);
      whole ? hn::StoreU(codes, d, to + i) : store_bytes(d, codes, to + i, rest);
    }
    x += rows.a_stride;
    other += rows.b_stride;
    to += rows.y_stride;
  }
}

}  // namespace

void sum_of_codes(const CodeRun& a, const CodeRun& b, const CodeRun& y, const CodeRows& rows) noexcept {
  each_row<CodesSum>(a, b, y, rows);
}
void product_of_codes(const CodeRun& a, const CodeRun& b, const CodeRun& y, const CodeRows& rows) noexcept {
  each_row<CodesProduct>(a, b, y, rows);
}

void quantize_u8(const QuantizeRun<uint8_t>& run) noexcept { quantize_run(run); }
void quantize_i8(const QuantizeRun<int8_t>& run) noexcept { quantize_run(run); }
void quantize_16(const QuantizeRun<uint16_t>& run, bool is_signed) noexcept { quantize_words(run, is_signed); }

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
void quantize(const QuantizeRun<uint16_t>& run) noexcept { RETORT_SELECT(quantize_16)(run, false); }
void quantize(const QuantizeRun<int16_t>& r) noexcept {
  RETORT_SELECT(quantize_16)({r.x, r.scale, r.zero, r.step, reinterpret_cast<uint16_t*>(r.y), r.n}, true);
}
namespace {

/// One row, if all are next to each other.
CodeRows joined(const CodeRows& r) {
  const bool next = r.a_stride == r.columns && r.b_stride == r.columns && r.y_stride == r.columns;
  return next ? CodeRows{.columns = r.rows * r.columns} : r;
}

}  // namespace

void add_codes(const CodeRun& a, const CodeRun& b, const CodeRun& y, CodeRows rows) noexcept {
  RETORT_SELECT_CODES(sum_of_codes)(a, b, y, joined(rows));
}
void multiply_codes(const CodeRun& a, const CodeRun& b, const CodeRun& y, CodeRows rows) noexcept {
  RETORT_SELECT(product_of_codes)(a, b, y, joined(rows));
}
std::pair<float, float> range_with_zero(const float* x, size_t n) noexcept { return RETORT_SELECT(find_range)(x, n); }

}  // namespace retort::kernels
#endif
