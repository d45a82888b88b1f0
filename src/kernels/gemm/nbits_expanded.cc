// Products of many rounded rows with n-bit weights: a pair of panels is expanded to 8 bits, then multiplied by all rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/nbits_expanded.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/nbits_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
#if HWY_TARGET <= HWY_AVX3
namespace {

/// Rows of a tile: two sums and two totals of each stay in registers, beside two vectors of codes and one of A.
constexpr size_t kRows = 6;
constexpr size_t kVector = HWY_MAX_BYTES;

/// A pair of panels: for each block the codes [block / 4][2][lanes][4], then two vectors of scales and two of zero points.
struct Expanded {
  size_t codes, block;  ///< bytes of the codes, and of all that belongs to a block
  explicit Expanded(size_t block_size) : codes(block_size / 2 * kVector), block(codes + 4 * kVector) {}
};

template <size_t kBits, size_t kQuad = 0>
HWY_INLINE void expand_vector(Words packed, uint8_t* to) {
  hn::Store(quad_of<kBits, kQuad>(packed), WordTag(), reinterpret_cast<uint32_t*>(to + 2 * kQuad * kVector));
  if constexpr (kQuad + 1 < 8 / kBits) expand_vector<kBits, kQuad + 1>(packed, to);
}

/// Expands panel `at` to the first (side 0) or second panel of a pair.
template <size_t kBits>
void expand(const Work& w, size_t at, size_t side, uint8_t* to) {
  const FloatTag d;
  const Layout& l = w.layout;
  const Expanded e(w.p.form.block);
  const uint8_t* panel = static_cast<const uint8_t*>(w.p.packed) + at * l.panel_bytes;
  for (size_t b = 0; b < l.blocks; ++b, to += e.block) {
    const uint8_t* codes = panel + b * l.block_bytes;
    for (size_t v = 0; v < l.vectors; ++v) {
      const Words packed = hn::LoadU(WordTag(), reinterpret_cast<const uint32_t*>(codes + v * kVector));
      expand_vector<kBits>(packed, to + (v * (8 / kBits) * 2 + side) * kVector);
    }
    const Parameters p = parameters_of(w, panel, b);
    hn::Store(p.scale, d, reinterpret_cast<float*>(to + e.codes + side * kVector));
    hn::Store(p.zero, d, reinterpret_cast<float*>(to + e.codes + (2 + side) * kVector));
  }
}

/// Packed weights that are needed next, which may come from far away: tiles request some lines in every block, since
/// many requests at once would wait for each other.
struct Ahead {
  static constexpr size_t kLine = 64;
  const uint8_t* from;
  size_t lines;  ///< for each block
  HWY_INLINE void request() {
    for (size_t i = 0; i < lines; ++i, from += kLine) __builtin_prefetch(from, 0, 2);
  }
};

template <NBitZeros kZeros>
void expanded_tile(const Work& w, size_t m0, size_t m1, size_t n0, const uint8_t* pair, Ahead ahead) noexcept {
  const FloatTag d;
  const size_t blocks = w.layout.blocks, block = w.p.form.block;
  const auto& [all_codes, scales, code_sums, starts] = w.rounded;
  const CodeRows<kRows> a(all_codes + m0 * w.depth, w.depth);
  Float totals[kRows][2];
#pragma GCC unroll 6
  for (size_t r = 0; r < kRows; ++r) totals[r][0] = totals[r][1] = hn::Zero(d);
  size_t row = m0 * blocks, k = 0;
  for (size_t b = 0; b < blocks; ++b, ++row) {
    Sums sums[kRows][2];
#pragma GCC unroll 6
    for (size_t r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = hn::Set(SumTag(), starts[row + r * blocks]);
    for (size_t i = 0; i < block; i += 4, k += 4, pair += 2 * kVector) {
      const QuadB b0(pair), b1(pair + kVector);
#pragma GCC unroll 6
      for (size_t r = 0; r < kRows; ++r) {
        const QuadA x(a.quad(r, k));
        dot<CodesUnit::quads>(x, b0, sums[r][0]);
        dot<CodesUnit::quads>(x, b1, sums[r][1]);
      }
    }
    ahead.request();
    const auto* numbers = reinterpret_cast<const float*>(pair);
    pair += 4 * kVector;
    for (size_t v = 0; v < 2; ++v) {
      const Float scale = hn::Load(d, numbers + v * kLanes), zero = hn::Load(d, numbers + (2 + v) * kLanes);
#pragma GCC unroll 6
      for (size_t r = 0; r < kRows; ++r) {
        const size_t at = row + r * blocks;
        Float x = hn::ConvertTo(d, sums[r][v]);
        if constexpr (kZeros == NBitZeros::codes) x = hn::NegMulAdd(zero, hn::Set(d, code_sums[at]), x);
        if constexpr (kZeros == NBitZeros::numbers)
          x = hn::NegMulAdd(zero, hn::Set(d, code_sums[at]), hn::Mul(x, scale));
        else
          x = hn::Mul(x, scale);
        totals[r][v] = hn::MulAdd(x, hn::Set(d, scales[at]), totals[r][v]);
      }
    }
  }
  for (size_t v = 0; v < 2; ++v) {
    const Float column[kRows] = {totals[0][v], totals[1][v], totals[2][v], totals[3][v], totals[4][v], totals[5][v]};
    if (n0 + v * kLanes < w.p.form.n) store_tile(w, m0, m1, n0 + v * kLanes, column);
  }
}

}  // namespace

void nbits_multiply_expanded(const Work& w, const Part& part) noexcept {
  const NBitForm& f = w.p.form;
  const auto expand_panel = f.bits == 4 ? &expand<4> : f.bits == 8 ? &expand<8> : &expand<2>;
  const auto tile = f.zeros == NBitZeros::middle  ? &expanded_tile<NBitZeros::middle>
                    : f.zeros == NBitZeros::codes ? &expanded_tile<NBitZeros::codes>
                                                  : &expanded_tile<NBitZeros::numbers>;
  auto* pair = reinterpret_cast<uint8_t*>(part.expanded);
  const size_t pair_bytes = 2 * w.layout.panel_bytes, tiles = ceil_div(part.m1 - part.m0, kRows);
  const size_t lines = ceil_div(pair_bytes / Ahead::kLine, tiles * w.layout.blocks);
  for (size_t at = part.panel0; at < part.panel1; at += 2) {
    expand_panel(w, at, 0, pair);
    expand_panel(w, std::min(at + 1, part.panel1 - 1), 1, pair);  // without a second panel, its results are dropped
    Ahead next{static_cast<const uint8_t*>(w.p.packed) + at * w.layout.panel_bytes + pair_bytes, lines};
    for (size_t m = part.m0; m < part.m1; m += kRows, next.from += lines * w.layout.blocks * Ahead::kLine)
      tile(w, m, std::min(m + kRows, part.m1), at * kLanes, pair, next);
  }
}
size_t nbits_expanded_bytes(const Layout& layout, size_t block) noexcept {
  return layout.blocks * Expanded(block).block;
}
#endif

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::nbits_detail {

#if defined(__x86_64__)
size_t expanded_bytes(const Layout& layout, const NBitForm& form, size_t m) {
  constexpr size_t kFewest = 12;  // rows: with fewer, the expansion takes longer than it saves
  const bool wide = current_isa() == Isa::avx512 && codes_unit() != CodesUnit::pairs;
  return wide && m >= kFewest ? round_up(N_AVX3::nbits_expanded_bytes(layout, form.block), size_t(64)) : 0;
}
void multiply_expanded(const Work& w, const Part& part) noexcept { N_AVX3::nbits_multiply_expanded(w, part); }
#else
size_t expanded_bytes(const Layout&, const NBitForm&, size_t) { return 0; }
void multiply_expanded(const Work&, const Part&) noexcept {}
#endif

}  // namespace retort::kernels::nbits_detail
#endif
