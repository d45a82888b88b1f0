// Products of many rows with n-bit weights: a pair of panels is expanded to 8 bits, or rounded to bfloat16 for products
// by AMX, then multiplied by all rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/nbits_expanded.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/codes_amx.h"
#include "kernels/gemm/nbits_expand-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
#if HWY_TARGET <= HWY_AVX3
namespace {

/// Codes that stay in a register: the compiler would rather load them again for each row.
HWY_INLINE Sums loaded_once(const uint8_t* codes) {
  auto v = load_quads(codes).raw;
  asm("" : "+v"(v));
  return Sums{v};
}

/// What the sums of a tile are made of: codes of A and B, and the numbers of blocks.
struct TileParts {
  const int8_t* a;
  const uint8_t* codes;
  const float *scales, *sums;  ///< of the first row's first block; those of other rows are `stride` further on
  const int32_t* starts;
  size_t depth, block, first, count, stride;  ///< there are no totals before block 0
};

/// Totals [kRows][kPair] in registers, from memory.
template <size_t kRows>
HWY_INLINE void load_registers(const TileParts& t, const float* from, Float (&totals)[kRows][2]) {
  const FloatTag d;
#pragma GCC unroll 6
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (size_t v = 0; v < 2; ++v) totals[r][v] = t.first == 0 ? hn::Zero(d) : hn::Load(d, from + (2 * r + v) * kLanes);
  }
}
template <size_t kRows>
HWY_INLINE void store_registers(const Float (&totals)[kRows][2], float* to) {
#pragma GCC unroll 6
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (size_t v = 0; v < 2; ++v) hn::Store(totals[r][v], FloatTag(), to + (2 * r + v) * kLanes);
  }
}

/// Adds `count` blocks to totals [kRows][kPair]. 2 · kRows sums and totals stay in registers, beside two
/// vectors of codes and one of A. It is a function of its own: with more to keep in mind, the compiler runs out of
/// registers.
template <NBitZeros kZeros, size_t kRows>
HWY_NOINLINE void add_blocks(const TileParts& t, Ahead ahead, float* to) noexcept {
  const FloatTag d;
  const CodeRows<kRows> a(t.a, t.depth);
  const uint8_t* codes = t.codes;
  Float totals[kRows][2];
  load_registers(t, to, totals);
  size_t k = 0;
  for (size_t b = 0; b < t.count; ++b) {
    Sums sums[kRows][2];
#pragma GCC unroll 6
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (size_t v = 0; v < 2; ++v) sums[r][v] = hn::Set(SumTag(), t.starts[b + r * t.stride]);
    }
    for (size_t i = 0; i < t.block; i += 16) {  // in a loop of single steps, sums would move between registers
#pragma GCC unroll 4
      for (size_t step = 0; step < 4; ++step, k += 4, codes += 2 * kVector) {
        Sums quads[2];
#pragma GCC unroll 2
        for (size_t v = 0; v < 2; ++v) quads[v] = loaded_once(codes + v * kVector);
#pragma GCC unroll 6
        for (size_t r = 0; r < kRows; ++r) {
          const QuadA x(a.quad(r, k));
#pragma GCC unroll 2
          for (size_t v = 0; v < 2; ++v) dot<CodesUnit::quads>(x, QuadB(quads[v]), sums[r][v]);
        }
      }
    }
    ahead.request();
    const auto* numbers = reinterpret_cast<const float*>(codes);
    codes += 4 * kVector;
#pragma GCC unroll 2
    for (size_t v = 0; v < 2; ++v) {
      const Parameters p{hn::Load(d, numbers + v * kLanes), hn::Load(d, numbers + (2 + v) * kLanes)};
#pragma GCC unroll 6
      for (size_t r = 0; r < kRows; ++r) {
        const size_t at = b + r * t.stride;
        totals[r][v] = add_scaled<kZeros>(totals[r][v], sums[r][v], p, t.scales[at], t.sums[at]);
      }
    }
  }
  store_registers(totals, to);
}

template <size_t kRows>
void expanded_tile(const Work& w, size_t m0, size_t m1, const Group& g, Ahead ahead) noexcept {
  const size_t row = m0 * w.layout.blocks + g.first;
  const TileParts t{.a = w.rounded.codes + m0 * w.depth + g.first * w.p.form.block,
                    .codes = g.expanded,
                    .scales = w.rounded.scales + row,
                    .sums = w.rounded.sums + row,
                    .starts = w.rounded.starts + row,
                    .depth = w.depth,
                    .block = w.p.form.block,
                    .first = g.first,
                    .count = g.last - g.first,
                    .stride = w.layout.blocks};
  const NBitZeros zeros = w.p.form.zeros;
  alignas(kVector) float totals[kRows * kPair];
  begin_totals(w, m0, m1, kRows, g, totals);
  if (zeros == NBitZeros::middle)
    add_blocks<NBitZeros::middle, kRows>(t, ahead, totals);
  else if (zeros == NBitZeros::codes)
    add_blocks<NBitZeros::codes, kRows>(t, ahead, totals);
  else
    add_blocks<NBitZeros::numbers, kRows>(t, ahead, totals);
  store_totals(w, m0, m1, g, totals);
}

#if defined(__linux__)
using codes_detail::kTileDepth;
using codes_detail::TileSigns;
constexpr size_t kTileRows = codes_detail::kTileRows;
static_assert(kPair == codes_detail::kTilePanel);
constexpr size_t kPiece = 8;  ///< rows whose totals stay in registers
constexpr size_t kGroup = 2;  ///< blocks whose sums are scaled together, and tiles of rows

/// The sums of a block for two tiles of rows.
struct BlockSums {
  alignas(64) int32_t at[kGroup][kTileRows][kPair];
};

/// Codes whose zero point is the middle of the range are signed here, so that sums need no correction.
template <NBitZeros kZeros>
void sum_block(const Work& w, const int8_t* a0, const int8_t* a1, const uint8_t* codes, BlockSums& to) {
  constexpr TileSigns kSigns = kZeros == NBitZeros::middle ? TileSigns::signed_signed : TileSigns::signed_unsigned;
  const size_t block = w.p.form.block, step = std::min(block, kTileDepth);
  codes_detail::clear_tiles();
  for (size_t i = 0; i < block; i += step, codes += step / 2 * kVector)
    codes_detail::multiply_tiles<kSigns>(a0 + i, a1 ? a1 + i : nullptr, w.depth, codes);
  codes_detail::store_tiles(to.at[0][0], a1);
}

/// Adds the sums of `count` blocks from `first` on to the totals of rows [row, row + kPiece), the first of which is row
/// `at` of its tile; `numbers` has the scales and zero points of the first block.
template <NBitZeros kZeros>
void add_sums(const Work& w, size_t row, size_t tile, size_t at, size_t first, size_t count, const BlockSums* sums,
              const uint8_t* numbers, float* totals) {
  const FloatTag d;
  const size_t blocks = w.layout.blocks, stride = Expanded(w.p.form.block).block;
  Float t[kPiece][2];
#pragma GCC unroll 8
  for (size_t r = 0; r < kPiece; ++r) {
    t[r][0] = hn::Load(d, totals + r * kPair);
    t[r][1] = hn::Load(d, totals + r * kPair + kLanes);
  }
  for (size_t b = 0; b < count; ++b, numbers += stride) {
    const float *scales = w.rounded.scales + row * blocks + first + b,
                *code_sums = w.rounded.sums + (scales - w.rounded.scales);
    const auto* p = reinterpret_cast<const float*>(numbers);
#pragma GCC unroll 8
    for (size_t r = 0; r < kPiece; ++r) {
#pragma GCC unroll 2
      for (size_t v = 0; v < 2; ++v) {
        const Parameters block{hn::Load(d, p + v * kLanes), hn::Load(d, p + (2 + v) * kLanes)};
        const Sums sum = hn::Load(SumTag(), sums[b].at[tile][at + r] + v * kLanes);
        t[r][v] = add_scaled<kZeros>(t[r][v], sum, block, scales[r * blocks], code_sums[r * blocks]);
      }
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kPiece; ++r) {
    hn::Store(t[r][0], d, totals + r * kPair);
    hn::Store(t[r][1], d, totals + r * kPair + kLanes);
  }
}

/// Two tiles of `rows` rows by a pair of panels in AMX registers; the second tile begins at row m[1] if there is one.
/// While blocks are multiplied, the sums of those before are scaled. Results have the bits of expanded_tile().
template <NBitZeros kZeros>
void tiles_by_pair(const Work& w, const size_t (&m)[kGroup], size_t tiles, size_t rows, size_t n0, const uint8_t* pair,
                   Ahead ahead) {
  const FloatTag d;
  const Expanded e(w.p.form.block);
  const size_t blocks = w.layout.blocks, groups = ceil_div(blocks, kGroup);
  const int8_t *a0 = w.rounded.codes + m[0] * w.depth, *a1 = tiles == 2 ? w.rounded.codes + m[1] * w.depth : nullptr;
  alignas(64) float totals[kGroup][kTileRows][kPair];
  BlockSums sums[2][kGroup];
  for (size_t i = 0; i < tiles * kTileRows * kPair; i += kLanes) hn::Store(hn::Zero(d), d, totals[0][0] + i);
  for (size_t g = 0; g <= groups; ++g) {
    for (size_t i = 0; i < kGroup; ++i) {  // block i of this group, and tile i of the group before
      const size_t b = g * kGroup + i;
      if (b < blocks) {
        sum_block<kZeros>(w, a0 + b * w.p.form.block, a1 ? a1 + b * w.p.form.block : nullptr, pair + b * e.block,
                          sums[g % 2][i]);
        ahead.request();
      }
      if (g == 0 || i >= tiles) continue;
      const size_t first = (g - 1) * kGroup, count = std::min(kGroup, blocks - first);
      for (size_t r = 0; r < rows; r += kPiece)
        add_sums<kZeros>(w, m[i] + r, i, r, first, count, sums[(g - 1) % 2], pair + first * e.block + e.codes,
                         totals[i][r]);
    }
  }
  for (size_t i = 0; i < tiles; ++i) {
    for (size_t r = 0; r < rows; r += kPiece) {
      for (size_t v = 0; v < 2 && n0 + v * kLanes < w.p.form.n; ++v) {
        Float column[kPiece];
        for (size_t j = 0; j < kPiece; ++j) column[j] = hn::Load(d, totals[i][r + j] + v * kLanes);
        store_tile(w, m[i] + r, m[i] + rows, n0 + v * kLanes, column);
      }
    }
  }
}

/// The rows of a part in tiles of about equal numbers of rows; the last one overlaps the one before.
struct RowTiles {
  size_t first, last, rows, count;
  RowTiles(size_t m0, size_t m1)
      : first(m0), last(m1), rows(ceil_div(m1 - m0, ceil_div(m1 - m0, kTileRows))), count(ceil_div(m1 - m0, rows)) {}
  size_t at(size_t i) const { return std::min(first + i * rows, last - rows); }
};

template <NBitZeros kZeros>
void multiply_in_tiles(const Work& w, const Part& part, size_t n0, const uint8_t* pair, const uint8_t* next) {
  const RowTiles tiles(part.m0, part.m1);
  const size_t lines =
      ceil_div(2 * w.layout.panel_bytes / Ahead::kLine, ceil_div(tiles.count, kGroup) * w.layout.blocks);
  for (size_t i = 0; i < tiles.count; i += kGroup, next += lines * w.layout.blocks * Ahead::kLine) {
    const size_t m[kGroup] = {tiles.at(i), tiles.at(i + 1)};
    tiles_by_pair<kZeros>(w, m, std::min(kGroup, tiles.count - i), tiles.rows, n0, pair, {next, lines});
  }
}

/// With blocks of 16, storing sums takes as long as the products in vectors.
bool suits_tiles(const Work& w, CodesUnit unit) { return unit == CodesUnit::tiles && w.p.form.block >= 32; }

void multiply_pairs_in_tiles(const Work& w, const Part& part) {
  const NBitForm& f = w.p.form;
  const Expand expand_panels = expand_of(f.bits);
  const Expanded e(f.block);
  const auto multiply = f.zeros == NBitZeros::middle  ? &multiply_in_tiles<NBitZeros::middle>
                        : f.zeros == NBitZeros::codes ? &multiply_in_tiles<NBitZeros::codes>
                                                      : &multiply_in_tiles<NBitZeros::numbers>;
  const auto less = uint8_t(f.zeros == NBitZeros::middle ? f.middle() : 0);
  auto* pair = reinterpret_cast<uint8_t*>(part.expanded);
  codes_detail::begin_tiles(RowTiles(part.m0, part.m1).rows, std::min(f.block, kTileDepth));
  for (size_t at = part.panel0; at < part.panel1; at += 2) {
    expand_panels(w, {at, part.panel1 - at, 0, w.layout.blocks}, e, less, pair);
    const auto* packed = static_cast<const uint8_t*>(w.p.packed) + at * w.layout.panel_bytes;
    multiply(w, part, at * kLanes, pair, packed + 2 * w.layout.panel_bytes);
  }
  codes_detail::end_tiles();
}
#else
bool suits_tiles(const Work&, CodesUnit) { return false; }
void multiply_pairs_in_tiles(const Work&, const Part&) {}
#endif

/// The numbers of two steps of k, `first` in the low halves, rounded to the nearest bfloat16. The caller has checked that
/// the processor has the instruction.
HWY_INLINE Words round_pair(Float first, Float second) {
  alignas(64) static constexpr uint16_t kTurns[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  __m512i both;  // all of `first`, then all of `second`
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(both) : "v"(first.raw), "v"(second.raw));
  return Words{_mm512_permutexvar_epi16(_mm512_load_si512(kTurns), both)};
}

template <size_t kBits, size_t kPair = 0>
HWY_INLINE void round_vector(Words packed, Float scale, Float offset, float* to) {
  const auto weight = [&](Float code) HWY_ATTR { return hn::MulSub(code, scale, offset); };
  const Words both = round_pair(weight(number_of<kBits, false, 2 * kPair>(packed)),
                                weight(number_of<kBits, false, 2 * kPair + 1>(packed)));
  hn::Store(hn::BitCast(FloatTag(), both), FloatTag(), to + 2 * kPair * kLanes);
  if constexpr (kPair + 1 < 16 / kBits) round_vector<kBits, kPair + 1>(packed, scale, offset, to);
}

/// The weights of panel `at`, rounded: half of the columns of pairs, which `to` points to.
template <size_t kBits>
void round_panel(const Work& w, size_t at, float* to) {
  const Layout& l = w.layout;
  const uint8_t* panel = static_cast<const uint8_t*>(w.p.packed) + at * l.panel_bytes;
  for (size_t b = 0; b < l.blocks; ++b) {
    const Parameters p = parameters_of(w, panel, b);
    const Float offset = w.p.form.zeros == NBitZeros::numbers ? p.zero : hn::Mul(p.zero, p.scale);
    const uint8_t* codes = l.block(panel, b);
    for (size_t v = 0; v < l.vectors; ++v, codes += kVector, to += 16 / kBits * 2 * kLanes) {
      __builtin_prefetch(codes + 4096, 0, 2);
      round_vector<kBits>(hn::LoadU(WordTag(), reinterpret_cast<const uint32_t*>(codes)), p.scale, offset, to);
    }
  }
}

}  // namespace

void nbits_round_panels(const Work& w, size_t at, float* pairs) noexcept {
  const size_t bits = w.p.form.bits, panels = ceil_div(w.p.form.n, kLanes);
  const auto round = bits == 4 ? &round_panel<4> : bits == 8 ? &round_panel<8> : &round_panel<2>;
  round(w, at, pairs);
  round(w, std::min(at + 1, panels - 1), pairs + kLanes);  // without a second panel, its results are dropped
}

void nbits_multiply_expanded(const Work& w, const Part& part, CodesUnit unit) noexcept {
  if (suits_tiles(w, unit)) return multiply_pairs_in_tiles(w, part);
  multiply_panels<6>(w, part, &expanded_tile<6>, &expanded_tile<4>);
}
#endif

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::nbits_detail {

#if defined(__x86_64__)
void multiply_expanded(const Work& w, const Part& part) noexcept {
  N_AVX3::nbits_multiply_expanded(w, part, codes_unit());
}
void round_panels(const Work& w, size_t at, float* pairs) noexcept { N_AVX3::nbits_round_panels(w, at, pairs); }
#else
void multiply_expanded(const Work&, const Part&) noexcept {}
void round_panels(const Work&, size_t, float*) noexcept {}
#endif

}  // namespace retort::kernels::nbits_detail
#endif
