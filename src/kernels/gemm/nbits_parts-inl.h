// What tiles of n-bit products share: the codes of a vector, the parameters of blocks, and rows of A. Included once per
// instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_GEMM_NBITS_PARTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_NBITS_PARTS_INL_H_
#undef RETORT_KERNELS_GEMM_NBITS_PARTS_INL_H_
#else
#define RETORT_KERNELS_GEMM_NBITS_PARTS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "kernels/gemm/codes_dot-inl.h"
#include "kernels/gemm/nbits_tile.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using nbits_detail::Layout;
using nbits_detail::Part;
using nbits_detail::Work;
using FloatTag = hn::ScalableTag<float>;
using Float = hn::Vec<FloatTag>;
using WordTag = hn::RebindToUnsigned<SumTag>;
using Words = hn::Vec<WordTag>;
constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);

template <size_t kBits>
constexpr uint32_t kCodeMask = kBits == 8   ? 0xffffffffu
                               : kBits == 4 ? 0x0f0f0f0fu
                                            : 0x03030303u;

/// Four codes per lane, as bytes: quad `kQuad` of the 8 / kBits that a vector holds.
template <size_t kBits, size_t kQuad>
HWY_INLINE Words quad_of(Words packed) {
  const WordTag d;
  if constexpr (kBits == 8) return packed;
  if constexpr (kQuad > 0) packed = hn::ShiftRight<int(kBits * kQuad)>(packed);
  return hn::And(packed, hn::Set(d, kCodeMask<kBits>));
}

HWY_INLINE int32_t load_quad(const int8_t* p) {
  int32_t quad;
  std::memcpy(&quad, p, sizeof(quad));
  return quad;
}

/// Rows of A's codes as a few pointers: row r is at rows[r / 3] + r % 3 · depth.
template <size_t kRows>
struct CodeRows {
  const int8_t* rows[(kRows + 2) / 3];
  size_t depth;
  HWY_INLINE CodeRows(const int8_t* first, size_t row_depth) : depth(row_depth) {
    for (size_t g = 0; g < (kRows + 2) / 3; ++g) rows[g] = first + g * 3 * depth;
  }
  HWY_INLINE int32_t quad(size_t r, size_t k) const { return load_quad(rows[r / 3] + r % 3 * depth + k); }
};

HWY_INLINE Float zeros_of(const uint8_t* bytes) {
  const hn::Rebind<uint8_t, SumTag> d;
  return hn::ConvertTo(FloatTag(), hn::PromoteTo(SumTag(), hn::LoadU(d, bytes)));
}
HWY_INLINE Float numbers_of(const Layout& l, const uint8_t* numbers) {
  const FloatTag d;
  const hn::Rebind<hwy::float16_t, FloatTag> half;
  if (l.number_bytes == sizeof(float)) return hn::LoadU(d, reinterpret_cast<const float*>(numbers));
  return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(numbers)));
}

/// The scales and the zero points of a block; offsets in place of zero points that are numbers.
struct Parameters {
  Float scale, zero;
};
HWY_INLINE Parameters parameters_of(const Work& w, const uint8_t* panel, size_t block) {
  const Layout& l = w.layout;
  const uint8_t* numbers = l.block(panel, block) + l.codes_bytes;
  const Float scale = numbers_of(l, numbers);
  switch (w.p.form.zeros) {
    case NBitZeros::codes:
      return {scale, zeros_of(panel + block * kLanes)};
    case NBitZeros::numbers:
      return {scale, numbers_of(l, numbers + kLanes * l.number_bytes)};
    case NBitZeros::middle:
      break;
  }
  return {scale, hn::Set(FloatTag(), float(w.p.form.middle()))};
}

/// total + the sum of a block with its scales, that of the weights and that of the row of A; `code_sum` is the sum of the
/// row's codes.
template <NBitZeros kZeros>
HWY_INLINE Float add_scaled(Float total, Sums sum, const Parameters& p, const float& row_scale, const float& code_sum) {
  const FloatTag d;
  Float x = hn::ConvertTo(d, sum);
  if constexpr (kZeros == NBitZeros::codes) x = hn::NegMulAdd(p.zero, hn::Set(d, code_sum), x);
  x = hn::Mul(x, p.scale);
  if constexpr (kZeros == NBitZeros::numbers) x = hn::NegMulAdd(p.zero, hn::Set(d, code_sum), x);
  return hn::MulAdd(x, hn::Set(d, row_scale), total);
}

/// Stores the totals of a tile. Surplus rows are dropped.
template <size_t kRows>
HWY_INLINE void store_tile(const Work& w, size_t m0, size_t m1, size_t n0, const Float (&totals)[kRows]) {
  const FloatTag d;
  const NBitProduct& p = w.p;
  const size_t n = p.form.n - n0;
  const Float bias = !p.bias ? hn::Zero(d) : n >= kLanes ? hn::LoadU(d, p.bias + n0) : LoadFirst(d, p.bias + n0, n);
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) {
    if (m0 + r >= m1) continue;
    const Float v = hn::Add(totals[r], bias);
    float* to = p.c + (m0 + r) * p.form.n + n0;
    n >= kLanes ? hn::StoreU(v, d, to) : StoreFirst(d, v, to, n);
  }
}

/// Whether codes of 4 bits are looked up in a vector of numbers.
constexpr bool kHasTable = HWY_TARGET <= HWY_AVX3;

/// Code `kCode` of each lane, in the order of k, minus the middle of the range if kMiddle is true, as a float.
template <size_t kBits, bool kMiddle, size_t kCode>
HWY_INLINE Float number_of(Words packed) {
  constexpr size_t kAt = kCode % 4 * 8 + kCode / 4 * kBits;  // a byte has codes of several quads
  static_assert(!kMiddle || (kBits == 4 && kHasTable));
  const WordTag d;
  if constexpr (kAt > 0) packed = hn::ShiftRight<int(kAt)>(packed);
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kBits == 4) {  // the instruction ignores all bits of an index but the lowest four
    const Float numbers = hn::Iota(FloatTag(), kMiddle ? -8 : 0);
    return Float{_mm512_permutexvar_ps(packed.raw, numbers.raw)};
  }
#endif
  if constexpr (kAt + kBits < 32) packed = hn::And(packed, hn::Set(d, (1u << kBits) - 1));
  return hn::ConvertTo(FloatTag(), hn::BitCast(SumTag(), packed));
}

/// Calls f(code of each lane, index) for the codes of a vector.
template <size_t kBits, bool kMiddle, size_t kCode = 0, class F>
HWY_INLINE void for_each_code(Words packed, const F& f) {
  f(number_of<kBits, kMiddle, kCode>(packed), kCode);
  if constexpr (kCode + 1 < 32 / kBits) for_each_code<kBits, kMiddle, kCode + 1>(packed, f);
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
