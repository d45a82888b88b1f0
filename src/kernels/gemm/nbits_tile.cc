// Sums of n-bit products in registers, the rounding of A, and the decoding of panels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/nbits_tile.cc"
#include "kernels/gemm/nbits_tile.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/codes_tile.h"
#include "kernels/gemm/nbits_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

constexpr size_t kPrefetch = 4096;  ///< bytes ahead in the packed weights

/// Rows of a tile: a sum and a total of each, beside the codes, stay in registers.
#if HWY_TARGET <= HWY_AVX3
constexpr size_t kTileRows = 8;
#elif HWY_ARCH_ARM_A64
constexpr size_t kTileRows = 8;
#else
constexpr size_t kTileRows = 4;
#endif

/// add_codes() adds four products to each lane of a sum. Without VNNI on x86, products of codes of 2 and 4 bits are
/// added as pairs: two of them do not exceed 2 · 15 · 127, and eight such pairs fit 16 bits; add_pair_sums() then adds
/// the pairs to the sum.
#if HWY_TARGET <= HWY_AVX3
using PairSums = Sums;  // not used
template <size_t kBits, CodesUnit kUnit>
HWY_INLINE void add_codes(Words codes, int32_t quad, Sums& sum, PairSums&) {
  auto v = sum.raw;
  asm("vpdpbusd %2, %1, %0" : "+v"(v) : "v"(codes.raw), "v"(hn::Set(SumTag(), quad).raw));
  sum.raw = v;
}
template <size_t kBits, CodesUnit kUnit>
HWY_INLINE void add_pair_sums(Sums&, PairSums&) {}
#elif HWY_ARCH_ARM_A64
using PairSums = Sums;  // not used
template <size_t kBits, CodesUnit kUnit>
HWY_INLINE void add_codes(Words codes, int32_t quad, Sums& sum, PairSums&) {
  const uint8x16_t u = vreinterpretq_u8_u32(codes.raw);
  const int16x8_t q = vmovl_s8(vget_low_s8(vreinterpretq_s8_s32(vdupq_n_s32(quad))));
  const auto products = [&q](uint8x8_t v) {
    const int16x8_t wide = vreinterpretq_s16_u16(vmovl_u8(v));
    return vpaddq_s32(vmull_s16(vget_low_s16(wide), vget_low_s16(q)), vmull_high_s16(wide, q));
  };
  sum.raw = vaddq_s32(sum.raw, vpaddq_s32(products(vget_low_u8(u)), products(vget_high_u8(u))));
}
template <size_t kBits, CodesUnit kUnit>
HWY_INLINE void add_pair_sums(Sums&, PairSums&) {}
#else
using PairSums = Pairs;
template <size_t kBits, CodesUnit kUnit>
HWY_INLINE void add_codes(Words codes, int32_t quad, Sums& sum, PairSums& pairs) {
  const Sums q = hn::Set(SumTag(), quad);
#if HWY_TARGET == HWY_AVX2
  if constexpr (kUnit == CodesUnit::quads) return add_quads(hn::BitCast(SumTag(), codes), q, sum);
#endif
  if constexpr (kBits == 8) {
    const hn::RebindToUnsigned<PairTag> d;
    const auto v = hn::BitCast(d, codes);
    const Pairs even = hn::BitCast(PairTag(), hn::And(v, hn::Set(d, 0xff)));
    const Pairs odd = hn::BitCast(PairTag(), hn::ShiftRight<8>(v)), x = hn::BitCast(PairTag(), q);
    sum = add_pairs(hn::ShiftRight<8>(x), odd, add_pairs(hn::ShiftRight<8>(hn::ShiftLeft<8>(x)), even, sum));
  } else {
#if HWY_TARGET == HWY_AVX2
    pairs = hn::Add(pairs, Pairs{_mm256_maddubs_epi16(codes.raw, q.raw)});
#else
    pairs = hn::Add(pairs, Pairs{_mm_maddubs_epi16(codes.raw, q.raw)});
#endif
  }
}
template <size_t kBits, CodesUnit kUnit>
HWY_INLINE void add_pair_sums(Sums& sum, PairSums& pairs) {
  if constexpr (kBits == 8 || (HWY_TARGET == HWY_AVX2 && kUnit == CodesUnit::quads)) return;
  sum = add_pairs(pairs, hn::Set(PairTag(), 1), sum);
  pairs = hn::Zero(PairTag());
}
#endif

template <size_t kBits, CodesUnit kUnit, size_t kQuad, size_t kRows>
HWY_INLINE void add_quad(Words packed, const CodeRows<kRows>& a, size_t k, Sums (&sums)[kRows],
                         PairSums (&pairs)[kRows]) {
  const Words codes = quad_of<kBits, kQuad>(packed);
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) add_codes<kBits, kUnit>(codes, a.quad(r, k + 4 * kQuad), sums[r], pairs[r]);
}

/// Adds the products of a block, whose first element is `k`.
template <size_t kBits, CodesUnit kUnit, size_t kRows>
HWY_INLINE void add_block(const uint8_t* codes, size_t vectors, const CodeRows<kRows>& a, size_t k,
                          Sums (&sums)[kRows]) {
  constexpr size_t kMost = kBits;  // vectors with eight quads
  const size_t some = std::min(vectors, kMost);
  PairSums pairs[kRows];
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) pairs[r] = hn::Zero(hn::DFromV<PairSums>());
  for (size_t v = 0; v < vectors; v += some) {
    for (size_t i = 0; i < some; ++i, codes += HWY_MAX_BYTES, k += 32 / kBits) {
      if constexpr (kRows <= 2) __builtin_prefetch(codes + kPrefetch, 0, 3);
      const Words packed = hn::LoadU(WordTag(), reinterpret_cast<const uint32_t*>(codes));
      add_quad<kBits, kUnit, 0>(packed, a, k, sums, pairs);
      if constexpr (kBits <= 4) add_quad<kBits, kUnit, 1>(packed, a, k, sums, pairs);
      if constexpr (kBits == 2) add_quad<kBits, kUnit, 2>(packed, a, k, sums, pairs);
      if constexpr (kBits == 2) add_quad<kBits, kUnit, 3>(packed, a, k, sums, pairs);
    }
#pragma GCC unroll 12
    for (size_t r = 0; r < kRows; ++r) add_pair_sums<kBits, kUnit>(sums[r], pairs[r]);
  }
}

/// Adds the sums of products of a block, `row` being its number in those of A, to the totals.
template <size_t kRows>
HWY_INLINE void add_totals(const Work& w, const Parameters& p, size_t row, const Sums (&sums)[kRows],
                           Float (&totals)[kRows]) {
  const FloatTag d;
  const size_t blocks = w.layout.blocks;
  const auto& [codes, scales, code_sums, starts] = w.rounded;
  const NBitZeros zeros = w.p.form.zeros;
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) {
    const size_t at = row + r * blocks;
    Float v = hn::ConvertTo(d, sums[r]);
    if (zeros == NBitZeros::numbers) {
      v = hn::NegMulAdd(p.zero, hn::Set(d, code_sums[at]), hn::Mul(v, p.scale));
      totals[r] = hn::MulAdd(v, hn::Set(d, scales[at]), totals[r]);
      continue;
    }
    if (zeros == NBitZeros::codes) v = hn::NegMulAdd(p.zero, hn::Set(d, code_sums[at]), v);
    totals[r] = hn::MulAdd(v, hn::Mul(p.scale, hn::Set(d, scales[at])), totals[r]);
  }
}

template <size_t kBits, CodesUnit kUnit, size_t kRows>
void rounded_tile(const Work& w, size_t m0, size_t m1, size_t at, const uint8_t* panel) noexcept {
  const FloatTag d;
  const Layout& l = w.layout;
  const size_t block = w.p.form.block;
  const CodeRows<kRows> a(w.rounded.codes + m0 * w.depth, w.depth);
  Float totals[kRows];
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) totals[r] = hn::Zero(d);
  const uint8_t* codes = l.block(panel, 0);
  size_t row = m0 * l.blocks;
  for (size_t b = 0; b < l.blocks; ++b, codes += l.block_bytes, ++row) {
    Sums sums[kRows];
#pragma GCC unroll 12
    for (size_t r = 0; r < kRows; ++r) sums[r] = hn::Set(SumTag(), w.rounded.starts[row + r * l.blocks]);
    add_block<kBits, kUnit>(codes, l.vectors, a, b * block, sums);
    add_totals<kRows>(w, parameters_of(w, panel, b), row, sums, totals);
  }
  store_tile(w, m0, m1, at * kLanes, totals);
}

/// kMiddle: zero points are the middle of the range, which the table of codes has subtracted.
template <size_t kBits, size_t kRows, bool kNumbers, bool kMiddle>
void exact_tile(const Work& w, size_t m0, size_t m1, size_t at, const uint8_t* panel) noexcept {
  const FloatTag d;
  const Layout& l = w.layout;
  const float* x[kRows];
  Float totals[kRows];
  for (size_t r = 0; r < kRows; ++r) {
    x[r] = w.exact + std::min(m0 + r, m1 - 1) * w.depth;
    totals[r] = hn::Zero(d);
  }
  const uint8_t* codes = l.block(panel, 0);
  size_t k = 0;
  for (size_t b = 0; b < l.blocks; ++b, codes += l.block_bytes) {
    const Parameters p = parameters_of(w, panel, b);
    constexpr size_t kSets = kRows == 1 ? 4 : 2;
    Float sums[kRows][kSets];
    for (size_t r = 0; r < kRows; ++r)
      for (size_t s = 0; s < kSets; ++s) sums[r][s] = hn::Zero(d);
    for (size_t v = 0; v < l.vectors; ++v, k += 32 / kBits) {
      __builtin_prefetch(codes + v * HWY_MAX_BYTES + kPrefetch, 0, 3);
      const Words packed = hn::LoadU(WordTag(), reinterpret_cast<const uint32_t*>(codes + v * HWY_MAX_BYTES));
      for_each_code<kBits, kMiddle>(packed, [&](Float code, size_t i) HWY_ATTR {
        const Float weight = kNumbers ? hn::MulSub(code, p.scale, p.zero) : kMiddle ? code : hn::Sub(code, p.zero);
#pragma GCC unroll 4
        for (size_t r = 0; r < kRows; ++r)
          sums[r][i % kSets] = hn::MulAdd(weight, hn::Set(d, x[r][k + i]), sums[r][i % kSets]);
      });
    }
    for (size_t r = 0; r < kRows; ++r) {
      Float sum = hn::Add(sums[r][0], sums[r][1]);
      if constexpr (kSets == 4) sum = hn::Add(sum, hn::Add(sums[r][2], sums[r][3]));
      totals[r] = kNumbers ? hn::Add(sum, totals[r]) : hn::MulAdd(sum, p.scale, totals[r]);
    }
  }
  store_tile(w, m0, m1, at * kLanes, totals);
}

using Tile = void (*)(const Work&, size_t, size_t, size_t, const uint8_t*) noexcept;

template <size_t kBits, CodesUnit kUnit>
Tile rounded_tile_of(size_t rows) {
  if (rows == 1) return &rounded_tile<kBits, kUnit, 1>;
  if (rows == 2) return &rounded_tile<kBits, kUnit, 2>;
  if (rows <= 4) return &rounded_tile<kBits, kUnit, 4>;
  return &rounded_tile<kBits, kUnit, std::max<size_t>(4, kTileRows)>;
}
template <size_t kBits, bool kNumbers, bool kMiddle>
Tile exact_tile_of(size_t rows) {
  if (rows == 1) return &exact_tile<kBits, 1, kNumbers, kMiddle>;
  return rows == 2 ? &exact_tile<kBits, 2, kNumbers, kMiddle> : &exact_tile<kBits, 4, kNumbers, kMiddle>;
}
template <size_t kBits>
Tile tile_of(const Work& w, size_t rows, CodesUnit unit) {
  if (w.p.input == NBitInput::rounded) {
    if constexpr (HWY_TARGET == HWY_AVX2) {
      if (unit == CodesUnit::pairs) return rounded_tile_of<kBits, CodesUnit::pairs>(rows);
    }
    return rounded_tile_of<kBits, CodesUnit::quads>(rows);
  }
  const NBitZeros zeros = w.p.form.zeros;
  if (zeros == NBitZeros::numbers) return exact_tile_of<kBits, true, false>(rows);
  if constexpr (kBits == 4 && kHasTable) {
    if (zeros == NBitZeros::middle) return exact_tile_of<kBits, false, true>(rows);
  }
  return exact_tile_of<kBits, false, false>(rows);
}

template <size_t kBits>
void decode_panel(const Work& w, const uint8_t* panel, float* to, size_t stride) {
  const FloatTag d;
  const Layout& l = w.layout;
  const size_t depth = w.p.form.k;
  const bool numbers = w.p.form.zeros == NBitZeros::numbers;
  size_t k = 0;
  for (size_t b = 0; b < l.blocks; ++b) {
    const Parameters p = parameters_of(w, panel, b);
    const uint8_t* codes = l.block(panel, b);
    for (size_t v = 0; v < l.vectors; ++v, k += 32 / kBits) {
      const Words packed = hn::LoadU(WordTag(), reinterpret_cast<const uint32_t*>(codes + v * HWY_MAX_BYTES));
      for_each_code<kBits, false>(packed, [&](Float code, size_t i) HWY_ATTR {
        const Float x = numbers ? hn::MulSub(code, p.scale, p.zero) : hn::Mul(hn::Sub(code, p.zero), p.scale);
        if (k + i < depth) hn::StoreU(x, d, to + (k + i) * stride);
      });
    }
  }
}

constexpr size_t kBatch = 16;  ///< blocks that are rounded together

/// The scales of `count` blocks of a row, and the factors that make codes of its elements. Magnitudes are in the order of
/// their bits, and NaN is above infinity.
HWY_INLINE void measure_blocks(const float* x, size_t block, size_t count, float* scales, float* factors) {
  const FloatTag d;
  const SumTag whole;
  const Float limit = hn::Set(d, std::numeric_limits<float>::max());
  alignas(64) float largest[kBatch] = {};
  for (size_t b = 0; b < count; ++b) {
    Sums most = hn::Zero(whole);
    for (size_t i = 0; i < block; i += kLanes, x += kLanes)
      most = hn::Max(most, hn::And(hn::BitCast(whole, hn::LoadU(d, x)), hn::Set(whole, 0x7fffffff)));
    largest[b] = std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(whole, most)));
  }
  for (size_t b = 0; b < kBatch; b += kLanes) {
    const Float most = hn::Load(d, largest + b);
    const auto finite = hn::Le(most, limit);
    const Float factor = hn::Min(hn::Div(hn::Set(d, 127), most), limit), scale = hn::Div(most, hn::Set(d, 127));
    hn::Store(hn::IfThenElseZero(hn::And(finite, hn::Gt(most, hn::Zero(d))), factor), d, factors + b);
    hn::Store(hn::IfThenElse(finite, scale, hn::Set(d, std::numeric_limits<float>::quiet_NaN())), d, scales + b);
  }
}

/// Rounds `count` blocks of a row, the first of which is block `at` of all rows. Work on several blocks at a time does
/// not wait for the largest number of each. A number of at most 127 is rounded where 1.5 · 2^23 is added to it: the
/// lowest byte is its code then.
HWY_INLINE void round_blocks(const Work& w, const float* x, size_t at, size_t count, int8_t* codes) {
  const FloatTag d;
  const SumTag whole;
  const hn::Rebind<uint8_t, WordTag> narrow;
  const size_t block = w.p.form.block;
  const uint32_t middle = w.p.form.zeros == NBitZeros::middle ? uint32_t(w.p.form.middle()) : 0;
  const Float turn = hn::Set(d, 12582912.0f);
  alignas(64) float factors[kBatch], scales[kBatch];
  int32_t totals[kBatch];
  measure_blocks(x, block, count, scales, factors);
  for (size_t b = 0; b < count; ++b) {
    const Float factor = hn::Set(d, factors[b]);
    Sums sum = hn::Zero(whole);
    for (size_t i = 0; i < block; i += kLanes, x += kLanes, codes += kLanes) {
      const Float turned = hn::Add(hn::Mul(hn::LoadU(d, x), factor), turn);
      sum = hn::Add(sum, hn::Sub(hn::BitCast(whole, turned), hn::BitCast(whole, turn)));
      hn::StoreU(hn::TruncateTo(narrow, hn::BitCast(WordTag(), turned)), narrow, reinterpret_cast<uint8_t*>(codes));
    }
    totals[b] = hn::GetLane(hn::SumOfLanes(whole, sum));
  }
  const nbits_detail::RoundedRows to = w.rounded;
  std::copy_n(scales, count, to.scales + at);
  for (size_t b = 0; b < count; ++b) {
    to.starts[at + b] = int32_t(0u - middle * uint32_t(totals[b]));  // any number if a code is NaN
    to.sums[at + b] = float(totals[b]);
  }
}

}  // namespace

void nbits_round(const Work& w, size_t m0, size_t m1) noexcept {
  const NBitForm& f = w.p.form;
  const size_t whole = f.k / f.block, left = f.k % f.block;
  alignas(64) float last[256];
  for (size_t m = m0; m < m1; ++m) {
    const float* x = w.p.a + m * f.k;
    const size_t at = m * w.layout.blocks;
    int8_t* codes = w.rounded.codes + m * w.depth;
    for (size_t b = 0; b < whole; b += kBatch)
      round_blocks(w, x + b * f.block, at + b, std::min(kBatch, whole - b), codes + b * f.block);
    if (left == 0) continue;
    std::fill(std::copy_n(x + whole * f.block, left, last), last + f.block, 0.0f);
    round_blocks(w, last, at + whole, 1, codes + whole * f.block);
  }
}

void nbits_multiply(const Work& w, const Part& part, CodesUnit unit) noexcept {
  const size_t most = w.p.input == NBitInput::rounded ? kTileRows : nbits_detail::kFewRows;
  const size_t tiles = ceil_div(part.m1 - part.m0, most), rows = ceil_div(part.m1 - part.m0, tiles);
  const size_t bits = w.p.form.bits;
  const Tile tile = bits == 4   ? tile_of<4>(w, rows, unit)
                    : bits == 8 ? tile_of<8>(w, rows, unit)
                                : tile_of<2>(w, rows, unit);
  for (size_t at = part.panel0; at < part.panel1; ++at) {
    const uint8_t* panel = static_cast<const uint8_t*>(w.p.packed) + at * w.layout.panel_bytes;
    for (size_t m = part.m0; m < part.m1; m += rows) tile(w, m, std::min(m + rows, part.m1), at, panel);
  }
}

void nbits_decode(const Work& w, size_t at, float* to, size_t stride) noexcept {
  const uint8_t* panel = static_cast<const uint8_t*>(w.p.packed) + at * w.layout.panel_bytes;
  if (w.p.form.bits == 4) return decode_panel<4>(w, panel, to, stride);
  w.p.form.bits == 8 ? decode_panel<8>(w, panel, to, stride) : decode_panel<2>(w, panel, to, stride);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::nbits_detail {
size_t lanes() {
  if (current_isa() == Isa::v2) return 4;
  return current_isa() == Isa::avx2 || codes_unit() == CodesUnit::pairs ? 8 : 16;
}
bool converts_halves() { return current_isa() != Isa::v2; }
void round_rows(const Work& w, size_t m0, size_t m1) noexcept { RETORT_SELECT_CODES(nbits_round)(w, m0, m1); }
void multiply(const Work& w, const Part& part) noexcept {
  if (part.expanded) return codes_unit() == CodesUnit::pairs ? multiply_pairs(w, part) : multiply_expanded(w, part);
  RETORT_SELECT_CODES(nbits_multiply)(w, part, codes_unit());
}
void decode(const Work& w, size_t at, float* to, size_t stride) noexcept {
  RETORT_SELECT_CODES(nbits_decode)(w, at, to, stride);
}
}  // namespace retort::kernels::nbits_detail
#endif
