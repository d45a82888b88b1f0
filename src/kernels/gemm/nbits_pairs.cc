// Products of many rows with weights of 2 and 4 bits on x86 without VNNI: a pair of panels is expanded to 8 bits and then
// multiplied by all rows, in sums of 16 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/nbits_pairs.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/gemm/codes_tile.h"
#include "kernels/gemm/nbits_expand-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
namespace {

/// Rows of a tile: eight sums stay in registers, beside two vectors of codes, one of A and one of products.
constexpr size_t kRows = 4;

/// sum += pairs of products. The compiler would multiply by all codes first, and keep a sum in memory for it.
HWY_INLINE void add_products(Sums codes, Sums quad, Pairs& sum) {
  auto v = sum.raw, products = v;
#if HWY_TARGET == HWY_AVX2
  asm("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+x"(v), "=&x"(products) : "x"(codes.raw), "x"(quad.raw));
#else
  asm("movdqa %2, %1\n\tpmaddubsw %3, %1\n\tpaddw %1, %0" : "+x"(v), "=&x"(products) : "x"(codes.raw), "x"(quad.raw));
#endif
  sum.raw = v;
}

/// Adds the products of steps [k, k + steps), whose codes `pair` points to and is moved behind, in lanes of 16 bits.
HWY_INLINE void add_steps(const CodeRows<kRows>& a, size_t& k, size_t steps, const uint8_t*& pair,
                          Sums (&sums)[2][kRows]) {
  Pairs pairs[2][kRows];
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) pairs[0][r] = pairs[1][r] = hn::Zero(PairTag());
  for (const size_t end = k + steps; k < end; k += 4, pair += 2 * kVector) {
    const Sums b0 = load_quads(pair), b1 = load_quads(pair + kVector);
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      const Sums x = hn::Set(SumTag(), a.quad(r, k));
      add_products(b0, x, pairs[0][r]);
      add_products(b1, x, pairs[1][r]);
    }
  }
#pragma GCC unroll 8
  for (size_t j = 0; j < 2 * kRows; ++j)
    sums[j % 2][j / 2] = add_pairs(pairs[j % 2][j / 2], hn::Set(PairTag(), 1), sums[j % 2][j / 2]);
}

template <NBitZeros kZeros>
void pairs_tile(const Work& w, size_t m0, size_t m1, const Group& g, Ahead ahead) noexcept {
  const FloatTag d;
  const size_t blocks = w.layout.blocks, block = w.p.form.block;
  // A lane of 16 bits adds two products of each quad: 2 · 8 · 15 · 127 = 30480 after 32 steps by codes of 4 bits, and
  // 2 · 32 · 3 · 127 = 24384 after 128 by codes of 2 bits.
  const size_t steps = std::min(block, size_t(w.p.form.bits == 2 ? 128 : 32));
  const auto& [all_codes, scales, code_sums, starts] = w.rounded;
  const CodeRows<kRows> a(all_codes + m0 * w.depth, w.depth);
  const uint8_t* pair = g.expanded;
  alignas(kVector) float totals[kRows][2][kLanes];  // there are no registers for them
  begin_totals(w, m0, m1, kRows, g, totals[0][0]);
  if (g.first == 0) std::fill_n(totals[0][0], kRows * kPair, 0.0f);
  size_t row = m0 * blocks + g.first, k = g.first * block;
  for (size_t b = g.first; b < g.last; ++b, ++row) {
    Sums sums[2][kRows];
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) sums[0][r] = sums[1][r] = hn::Set(SumTag(), starts[row + r * blocks]);
    for (size_t i = 0; i < block; i += steps) add_steps(a, k, steps, pair, sums);
    ahead.request();
    const auto* numbers = reinterpret_cast<const float*>(pair);
    pair += 4 * kVector;
#pragma GCC unroll 2
    for (size_t v = 0; v < 2; ++v) {
      const Parameters p{hn::Load(d, numbers + v * kLanes), hn::Load(d, numbers + (2 + v) * kLanes)};
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
        const size_t at = row + r * blocks;
        const Float total = hn::Load(d, totals[r][v]);
        hn::Store(add_scaled<kZeros>(total, sums[v][r], p, scales[at], code_sums[at]), d, totals[r][v]);
      }
    }
  }
  store_totals(w, m0, m1, g, totals[0][0]);
}

}  // namespace

void nbits_multiply_pairs(const Work& w, const Part& part) noexcept {
  const NBitZeros zeros = w.p.form.zeros;
  const ExpandedTile tile = zeros == NBitZeros::middle  ? &pairs_tile<NBitZeros::middle>
                            : zeros == NBitZeros::codes ? &pairs_tile<NBitZeros::codes>
                                                        : &pairs_tile<NBitZeros::numbers>;
  multiply_panels<kRows>(w, part, tile, tile);
}
#else
void nbits_multiply_pairs(const Work&, const Part&) noexcept {}
#endif

size_t nbits_expanded_bytes(const Layout& layout, size_t block, CodesUnit unit) noexcept {
  const Expanded e(block);
  return e.block * (unit == CodesUnit::tiles ? layout.blocks : e.blocks_at_once(layout.blocks));
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::nbits_detail {

#if defined(__x86_64__)
size_t expanded_bytes(const Layout& layout, const NBitForm& form, size_t m) {
  constexpr size_t kFewest = 12;  // rows: with fewer, the expansion takes longer than it saves
  const bool pairs = codes_unit() == CodesUnit::pairs;
  const bool has_form = pairs ? form.bits <= 4 : current_isa() == Isa::avx512;
  if (!has_form || m < kFewest) return 0;
  return round_up(RETORT_SELECT_CODES(nbits_expanded_bytes)(layout, form.block, codes_unit()), size_t(64));
}
void multiply_pairs(const Work& w, const Part& part) noexcept { RETORT_SELECT_CODES(nbits_multiply_pairs)(w, part); }
#else
size_t expanded_bytes(const Layout&, const NBitForm&, size_t) { return 0; }
void multiply_pairs(const Work&, const Part&) noexcept {}
#endif

}  // namespace retort::kernels::nbits_detail
#endif
