// Converts sums of code products, with a scale and an offset per lane, to packed codes. Included once per instruction
// level (see dispatch.h).
#if defined(RETORT_KERNELS_CONV_CODES_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_CONV_CODES_FINISH_INL_H_
#undef RETORT_KERNELS_CONV_CODES_FINISH_INL_H_
#else
#define RETORT_KERNELS_CONV_CODES_FINISH_INL_H_
#endif

#include <cstring>

#include "kernels/gemm/codes_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using ByteTag = hn::Repartition<uint8_t, SumTag>;
using Bytes = hn::Vec<ByteTag>;

/// The nearest integers. Numbers beyond ±65536 become others beyond ±32768, which saturate later; NaN becomes a negative
/// one.
HWY_INLINE Sums nearest(ScaleVector x) {
  const auto limit = hn::Set(hn::ScalableTag<float>(), 65536.0f);
#if HWY_TARGET <= HWY_AVX3  // what has no integer becomes the smallest one; Highway's conversion adds instructions
  return Sums{_mm512_cvtps_epi32(hn::Min(limit, x).raw)};
#elif HWY_TARGET <= HWY_AVX2
  return Sums{_mm256_cvtps_epi32(hn::Min(limit, x).raw)};
#elif HWY_ARCH_X86
  return Sums{_mm_cvtps_epi32(hn::Min(limit, x).raw)};
#else
  const auto low = hn::Neg(limit), above = hn::IfThenElse(hn::Gt(x, low), x, low);  // NaN is not above
  return hn::NearestInt(hn::Min(above, limit));
#endif
}

/// round(sum · scale + offset), as nearest().
HWY_INLINE Sums rounded(Sums sum, ScaleVector scale, ScaleVector offset) {
  return nearest(hn::Add(hn::Mul(hn::ConvertTo(hn::ScalableTag<float>(), sum), scale), offset));
}

/// Saturates two vectors to 16 bits and adds the zero point. The order is that of pack_bytes().
HWY_INLINE Pairs pack_pairs(Sums a, Sums b, Pairs zero) {
  return hn::SaturatedAdd(hn::ReorderDemote2To(PairTag(), a, b), zero);
}

/// Saturates two vectors to codes: on x86 within each 128 bits, first the eight numbers of `a`, then those of `b`.
template <bool kSigned>
HWY_INLINE Bytes pack_bytes(Pairs a, Pairs b) {
#if HWY_TARGET <= HWY_AVX3
  return Bytes{kSigned ? _mm512_packs_epi16(a.raw, b.raw) : _mm512_packus_epi16(a.raw, b.raw)};
#elif HWY_TARGET <= HWY_AVX2
  return Bytes{kSigned ? _mm256_packs_epi16(a.raw, b.raw) : _mm256_packus_epi16(a.raw, b.raw)};
#elif HWY_ARCH_X86
  return Bytes{kSigned ? _mm_packs_epi16(a.raw, b.raw) : _mm_packus_epi16(a.raw, b.raw)};
#else
  if constexpr (kSigned)
    return Bytes{vreinterpretq_u8_s8(vcombine_s8(vqmovn_s16(a.raw), vqmovn_s16(b.raw)))};
  else
    return Bytes{vcombine_u8(vqmovun_s16(a.raw), vqmovun_s16(b.raw))};
#endif
}

/// The first n bytes of a vector; memory after them is not read or written.
template <class D>
HWY_INLINE hn::Vec<D> load_bytes(D d, const uint8_t* p, size_t n) {
#if HWY_TARGET <= HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, n), d, p);
#else
  alignas(64) uint8_t bytes[hn::MaxLanes(d)] = {};
  std::memcpy(bytes, p, n);
  return hn::Load(d, bytes);
#endif
}
template <class D>
HWY_INLINE void store_bytes(D d, hn::Vec<D> v, uint8_t* p, size_t n) {
#if HWY_TARGET <= HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, n), d, p);
#else
  alignas(64) uint8_t bytes[hn::MaxLanes(d)];
  hn::Store(v, d, bytes);
  std::memcpy(p, bytes, n);
#endif
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
