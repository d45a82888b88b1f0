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

/// The nearest integers of numbers within ±2^31, which are the same ones.
HWY_INLINE Sums nearest_small(ScaleVector x) {
#if HWY_TARGET <= HWY_AVX3
  return Sums{_mm512_cvtps_epi32(x.raw)};
#elif HWY_TARGET <= HWY_AVX2
  return Sums{_mm256_cvtps_epi32(x.raw)};
#elif HWY_ARCH_X86
  return Sums{_mm_cvtps_epi32(x.raw)};
#else
  return hn::NearestInt(x);
#endif
}

/// Scale and offset of a vector of sums.
struct Scaling {
  ScaleVector scale, offset;
  /// Whether results of any sum are within ±2^31 and need no offset.
  HWY_INLINE bool is_plain() const {
    const hn::ScalableTag<float> d;
    const auto small = hn::Le(hn::Abs(scale), hn::Set(d, 0.5f));  // NaN is not small
    return hn::AllTrue(d, hn::And(small, hn::Eq(offset, hn::Zero(d))));
  }
};
HWY_INLINE Scaling load_scaling(const float* scale, const float* offset) {
  const hn::ScalableTag<float> d;
  return {hn::LoadU(d, scale), hn::LoadU(d, offset)};
}

/// round(sum · scale + offset), as nearest(). `kPlain`: the scaling is_plain().
template <bool kPlain>
HWY_INLINE Sums rounded(Sums sum, const Scaling& by) {
  const auto scaled = hn::Mul(hn::ConvertTo(hn::ScalableTag<float>(), sum), by.scale);
  if constexpr (kPlain) return nearest_small(scaled);
  return nearest(hn::Add(scaled, by.offset));
}

/// The range of codes. Signed ones are computed as unsigned ones, 128 above, and their sign bit is inverted at the end.
/// Forms of code with `kMaySkip` leave out both steps where they change nothing, as after most activations.
struct CodeRange {
  Pairs zero;
  Bytes flip;
  bool moves, flips;
  CodeRange(int32_t of_zero, bool is_signed)
      : zero(hn::Set(PairTag(), int16_t(of_zero + (is_signed ? 128 : 0)))),
        flip(hn::Set(ByteTag(), uint8_t(is_signed ? 0x80 : 0))),
        moves(of_zero != (is_signed ? -128 : 0)),
        flips(is_signed) {}
};

/// Saturates two vectors to 16 bits and adds the zero point. The order is that of pack_bytes().
template <bool kMaySkip = false>
HWY_INLINE Pairs pack_pairs(Sums a, Sums b, const CodeRange& range) {
  const Pairs pairs = hn::ReorderDemote2To(PairTag(), a, b);
  return !kMaySkip || range.moves ? hn::SaturatedAdd(pairs, range.zero) : pairs;
}

/// Saturates two vectors to codes: on x86 within each 128 bits, first the eight numbers of `a`, then those of `b`.
template <bool kMaySkip = false>
HWY_INLINE Bytes pack_bytes(Pairs a, Pairs b, const CodeRange& range) {
#if HWY_TARGET <= HWY_AVX3
  const Bytes codes{_mm512_packus_epi16(a.raw, b.raw)};
#elif HWY_TARGET <= HWY_AVX2
  const Bytes codes{_mm256_packus_epi16(a.raw, b.raw)};
#elif HWY_ARCH_X86
  const Bytes codes{_mm_packus_epi16(a.raw, b.raw)};
#else
  const Bytes codes{vcombine_u8(vqmovun_s16(a.raw), vqmovun_s16(b.raw))};
#endif
  return !kMaySkip || range.flips ? hn::Xor(codes, range.flip) : codes;
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
