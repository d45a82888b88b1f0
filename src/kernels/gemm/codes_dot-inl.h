// The instructions for products of codes: four products per sum, or one. Included once per instruction level (see
// dispatch.h).
#if defined(RETORT_KERNELS_GEMM_CODES_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_CODES_DOT_INL_H_
#undef RETORT_KERNELS_GEMM_CODES_DOT_INL_H_
#else
#define RETORT_KERNELS_GEMM_CODES_DOT_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/gemm/gemm_codes.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using SumTag = hn::ScalableTag<int32_t>;
using Sums = hn::Vec<SumTag>;
using PairTag = hn::Repartition<int16_t, SumTag>;
using Pairs = hn::Vec<PairTag>;

HWY_INLINE Sums load_quads(const void* p) { return hn::Load(SumTag(), static_cast<const int32_t*>(p)); }

/// Whether processors of this level differ in their unit, so that there is a form for each. At 512 bits there is only one:
/// the selection in codes_tile.h ensures that the processor has VNNI.
constexpr bool kTwoUnits = HWY_TARGET == HWY_AVX2 || HWY_ARCH_ARM_A64;

/// sum += two pairs of products, each of which stops at the limits of 16 bits.
HWY_INLINE void add_saturated(Sums unsigned_codes, Sums signed_codes, Sums& sum) {
#if HWY_ARCH_ARM_A64
  const uint8x16_t u = vreinterpretq_u8_s32(unsigned_codes.raw);
  const int8x16_t s = vreinterpretq_s8_s32(signed_codes.raw);
  const int16x8_t low = vmulq_s16(vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(u))), vmovl_s8(vget_low_s8(s)));
  const int16x8_t high = vmulq_s16(vreinterpretq_s16_u16(vmovl_high_u8(u)), vmovl_high_s8(s));
  sum.raw = vpadalq_s16(sum.raw, vqaddq_s16(vuzp1q_s16(low, high), vuzp2q_s16(low, high)));
#elif HWY_TARGET <= HWY_AVX3
  const auto pairs = _mm512_maddubs_epi16(unsigned_codes.raw, signed_codes.raw);
  auto v = sum.raw;
  asm("vpdpwssd %2, %1, %0" : "+v"(v) : "v"(pairs), "v"(_mm512_set1_epi16(1)));
  sum.raw = v;
#elif HWY_TARGET == HWY_AVX2
  const auto pairs = _mm256_maddubs_epi16(unsigned_codes.raw, signed_codes.raw);
  sum.raw = _mm256_add_epi32(sum.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#else
  const auto pairs = _mm_maddubs_epi16(unsigned_codes.raw, signed_codes.raw);
  sum.raw = _mm_add_epi32(sum.raw, _mm_madd_epi16(pairs, _mm_set1_epi16(1)));
#endif
}

/// dot<unit>(a, b, sum) adds four products to each sum, with kTurn subtracted from the codes of B. An asm statement
/// writes to a variable of its own: if it wrote to an element of an array, the compiler would keep the array in memory.
#if HWY_TARGET <= HWY_AVX3
constexpr size_t kRowsAtOnce = 12;
constexpr int32_t kTurn = 0;
struct QuadB {
  Sums v;
  HWY_INLINE Sums codes() const { return v; }
  HWY_INLINE explicit QuadB(Sums quads) : v(quads) {}
  HWY_INLINE explicit QuadB(const uint8_t* p) : QuadB(load_quads(p)) {}
};
struct QuadA {
  Sums v;
  HWY_INLINE Sums codes() const { return v; }
  HWY_INLINE explicit QuadA(Sums quads) : v(quads) {}
  HWY_INLINE explicit QuadA(int32_t quad) : QuadA(hn::Set(SumTag(), quad)) {}
};
template <CodesUnit kUnit>
HWY_INLINE void dot(const QuadA& a, const QuadB& b, Sums& sum) {
  if constexpr (kUnit == CodesUnit::saturating) return add_saturated(b.codes(), a.codes(), sum);
  if constexpr (kUnit == CodesUnit::turned) return add_saturated(a.codes(), b.codes(), sum);
  auto v = sum.raw;
  asm("vpdpbusd %2, %1, %0" : "+v"(v) : "v"(b.v.raw), "v"(a.v.raw));
  sum.raw = v;
}
#elif HWY_ARCH_ARM_A64  // it multiplies codes of the same signedness, so those of B become signed
constexpr size_t kRowsAtOnce = kAccumulators / 2;
constexpr int32_t kTurn = 128;
#if defined(__ARM_FEATURE_DOTPROD)
#define RETORT_DOTPROD
#else  // the compiler does not know that the processor supports it
#define RETORT_DOTPROD ".arch armv8.2-a+dotprod\n\t"
#endif
struct QuadB {
  int8x16_t v;
  HWY_INLINE Sums codes() const {
    return Sums(vreinterpretq_s32_u8(veorq_u8(vreinterpretq_u8_s8(v), vdupq_n_u8(kTurn))));
  }
  HWY_INLINE explicit QuadB(Sums quads)
      : v(vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_s32(quads.raw), vdupq_n_u8(kTurn)))) {}
  HWY_INLINE explicit QuadB(const uint8_t* p) : QuadB(load_quads(p)) {}
};
struct QuadA {
  int8x16_t v;
  HWY_INLINE Sums codes() const { return Sums(vreinterpretq_s32_s8(v)); }
  HWY_INLINE explicit QuadA(Sums quads) : v(vreinterpretq_s8_s32(quads.raw)) {}
  HWY_INLINE explicit QuadA(int32_t quad) : QuadA(hn::Set(SumTag(), quad)) {}
};
template <CodesUnit kUnit>
HWY_INLINE void dot(const QuadA& a, const QuadB& b, Sums& sum) {
  if constexpr (kUnit == CodesUnit::saturating) {
    add_saturated(b.codes(), a.codes(), sum);
  } else if constexpr (kUnit == CodesUnit::turned) {
    add_saturated(a.codes(), b.codes(), sum);
  } else if constexpr (kUnit == CodesUnit::quads) {
    auto v = sum.raw;
    asm(RETORT_DOTPROD "sdot %0.4s, %1.16b, %2.16b" : "+w"(v) : "w"(b.v), "w"(a.v));
    sum.raw = v;
  } else {
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a.v), vget_low_s8(b.v)));
    const int32x4_t high = vpaddlq_s16(vmull_high_s8(a.v, b.v));
    sum.raw = vaddq_s32(sum.raw, vpaddq_s32(low, high));
  }
}
#else
constexpr size_t kRowsAtOnce = 4;
constexpr int32_t kTurn = 0;
struct QuadB {
  Sums whole;
  Pairs even, odd;
  HWY_INLINE Sums codes() const { return whole; }
  HWY_INLINE explicit QuadB(const uint8_t* p) : QuadB(load_quads(p)) {}
  HWY_INLINE explicit QuadB(Sums quads) : whole(quads) {
    const hn::RebindToUnsigned<PairTag> d;
    const auto v = hn::BitCast(d, quads);
    even = hn::BitCast(PairTag(), hn::And(v, hn::Set(d, 0xff)));
    odd = hn::BitCast(PairTag(), hn::ShiftRight<8>(v));
  }
};
struct QuadA {
  Sums whole;
  Pairs even, odd;
  HWY_INLINE Sums codes() const { return whole; }
  HWY_INLINE explicit QuadA(int32_t quad) : QuadA(hn::Set(SumTag(), quad)) {}
  HWY_INLINE explicit QuadA(Sums quads) : whole(quads) {
    const Pairs v = hn::BitCast(PairTag(), quads);
    even = hn::ShiftRight<8>(hn::ShiftLeft<8>(v));
    odd = hn::ShiftRight<8>(v);
  }
};
HWY_INLINE Sums add_pairs(Pairs a, Pairs b, Sums sum) {
  Sums other = sum;
  return hn::ReorderWidenMulAccumulate(SumTag(), a, b, sum, other);
}
#if HWY_TARGET == HWY_AVX2
/// sum += products of AVX-VNNI: unsigned codes times signed ones.
HWY_INLINE void add_quads(Sums codes, Sums signed_codes, Sums& sum) {
  auto v = sum.raw;
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(v) : "x"(codes.raw), "x"(signed_codes.raw));
  sum.raw = v;
}
#endif
template <CodesUnit kUnit>
HWY_INLINE void dot(const QuadA& a, const QuadB& b, Sums& sum) {
  if constexpr (kUnit == CodesUnit::saturating) return add_saturated(b.codes(), a.codes(), sum);
  if constexpr (kUnit == CodesUnit::turned) return add_saturated(a.codes(), b.codes(), sum);
#if HWY_TARGET == HWY_AVX2
  if constexpr (kUnit == CodesUnit::quads) return add_quads(b.codes(), a.codes(), sum);
#endif
  sum = add_pairs(a.odd, b.odd, add_pairs(a.even, b.even, sum));
}
#endif

/// Codes of A as magnitudes, at most 128, and masks of the negative ones. Products of a pair are at most 2 · 128 · 128,
/// so that none saturates. Inverting all bits of a code makes it -1 - code: what a sum then lacks, the magnitudes of all
/// negative codes of a row, is part of the bias of that row.
struct SplitA {
  Sums magnitudes, negative;
  HWY_INLINE SplitA(int32_t quad, int32_t mask)
      : magnitudes(hn::Set(SumTag(), quad)), negative(hn::Set(SumTag(), mask)) {}
};
template <CodesUnit>
HWY_INLINE void dot(const SplitA& a, const QuadB& b, Sums& sum) {
  add_saturated(a.magnitudes, hn::Xor(b.codes(), a.negative), sum);
}

/// sum += both products of a pair.
HWY_INLINE void add_pair(Pairs x, Pairs weights, Sums& sum) {
#if HWY_TARGET <= HWY_AVX3
  auto v = sum.raw;
  asm("vpdpwssd %2, %1, %0" : "+v"(v) : "v"(x.raw), "v"(weights.raw));
  sum.raw = v;
#elif HWY_ARCH_ARM_A64
  const int32x4_t low = vmull_s16(vget_low_s16(x.raw), vget_low_s16(weights.raw));
  sum.raw = vaddq_s32(sum.raw, vpaddq_s32(low, vmull_high_s16(x.raw, weights.raw)));
#else
  sum = add_pairs(x, weights, sum);
#endif
}

/// sum += x · weight, both of at most 16 bits; the upper half of the weight is ignored.
HWY_INLINE void add_product(Sums x, Sums weight, Sums& sum) {
#if HWY_ARCH_ARM_A64
  sum = hn::Add(sum, hn::Mul(x, hn::ShiftRight<16>(hn::ShiftLeft<16>(weight))));
#else
  add_pair(hn::BitCast(PairTag(), x), hn::BitCast(PairTag(), weight), sum);
#endif
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
