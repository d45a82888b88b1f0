// Pairs of panels of n-bit weights that are expanded to 8 bits, for products with many rows. Included once per
// instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_GEMM_NBITS_EXPAND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_NBITS_EXPAND_INL_H_
#undef RETORT_KERNELS_GEMM_NBITS_EXPAND_INL_H_
#else
#define RETORT_KERNELS_GEMM_NBITS_EXPAND_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/gemm/nbits_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

constexpr size_t kVector = HWY_MAX_BYTES, kPair = 2 * kLanes;

/// A pair of panels: for each block the codes [block / 4][2][lanes][4], then two vectors of scales and two of zero points.
struct Expanded {
  static constexpr size_t kMostBytes = 128 << 10;  ///< of blocks expanded at once: a part of the second-level cache
  size_t codes, block;                             ///< bytes of the codes, and of all that belongs to a block
  explicit Expanded(size_t block_size) : codes(block_size / 2 * kVector), block(codes + 4 * kVector) {}
  size_t blocks_at_once(size_t blocks) const {
    return std::max<size_t>(1, ceil_div(blocks, std::max<size_t>(1, ceil_div(blocks * block, kMostBytes))));
  }
};

template <size_t kBits, size_t kQuad = 0>
HWY_INLINE void expand_vector(Words packed, uint8_t less, size_t stride, uint8_t* to) {
  const hn::Repartition<uint8_t, WordTag> d;
  hn::Store(hn::Sub(hn::BitCast(d, quad_of<kBits, kQuad>(packed)), hn::Set(d, less)), d, to + kQuad * stride);
  if constexpr (kQuad + 1 < 8 / kBits) expand_vector<kBits, kQuad + 1>(packed, less, stride, to);
}

/// Blocks [first, last) of the pair from panel `at` on; without a second panel, the first one stands for it.
struct Blocks {
  size_t at, panels, first, last;
};

/// Expands blocks in the order of their memory; `less` is subtracted from the codes.
template <size_t kBits>
void expand(const Work& from_work, const Blocks& from, const Expanded& expanded, uint8_t less, uint8_t* to) {
  const FloatTag d;
  const Work w = from_work;  // copies: what is stored might change the originals, as far as the compiler knows
  const Expanded e = expanded;
  const Layout& l = w.layout;
  constexpr size_t stride = 2 * kVector;
  const auto* first = static_cast<const uint8_t*>(w.p.packed) + from.at * l.panel_bytes;
  const size_t next = from.panels > 1 ? l.panel_bytes : 0;
  const bool has_zeros = w.p.form.zeros != NBitZeros::middle;
  for (size_t b = from.first, last = from.last; b < last; ++b, to += e.block) {
    const uint8_t* panel = first;
    for (size_t side = 0; side < 2; ++side, panel += next) {
      const uint8_t* codes = l.block(panel, b);
      uint8_t* own = to + side * kVector;
      for (size_t v = 0; v < l.vectors; ++v, own += (8 / kBits) * stride) {
        const Words packed = hn::LoadU(WordTag(), reinterpret_cast<const uint32_t*>(codes + v * kVector));
        expand_vector<kBits>(packed, less, stride, own);
      }
      const Parameters p = parameters_of(w, panel, b);
      hn::Store(p.scale, d, reinterpret_cast<float*>(own));
      if (has_zeros) hn::Store(p.zero, d, reinterpret_cast<float*>(own + stride));
    }
  }
}
using Expand = void (*)(const Work&, const Blocks&, const Expanded&, uint8_t less, uint8_t* to);
HWY_INLINE Expand expand_of(size_t bits) { return bits == 4 ? &expand<4> : bits == 8 ? &expand<8> : &expand<2>; }

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

/// Blocks [first, last) of a pair of panels, whose first column is n0.
struct Group {
  const uint8_t* expanded;
  size_t n0, first, last;
};

/// Adds the products of blocks to kRows rows from m0 on, of which those from m1 on are dropped. Blocks before them are
/// already in C.
using ExpandedTile = void (*)(const Work&, size_t m0, size_t m1, const Group&, Ahead ahead) noexcept;

/// Reads the totals of blocks before, [rows][kPair], or, if there are none, requests the memory where they are stored.
HWY_INLINE void begin_totals(const Work& w, size_t m0, size_t m1, size_t rows, const Group& g, float* totals) {
  const size_t n = w.p.form.n, columns = std::min(kPair, n - g.n0);
  if (g.first > 0) std::fill_n(totals, rows * kPair, 0.0f);
  for (size_t m = m0; m < m1; ++m, totals += kPair) {
    const float* from = w.p.c + m * n + g.n0;
    if (g.first > 0) {
      std::copy_n(from, columns, totals);
      continue;
    }
    for (size_t v = 0; v < columns; v += Ahead::kLine / sizeof(float)) __builtin_prefetch(from + v, 1, 3);
    const bool split = reinterpret_cast<uintptr_t>(from) % Ahead::kLine != 0;  // the columns take a line more
    if (split) __builtin_prefetch(from + columns - 1, 1, 3);
  }
}
/// Stores totals, with the bias if they are complete.
HWY_INLINE void store_totals(const Work& w, size_t m0, size_t m1, const Group& g, const float* totals) {
  const FloatTag d;
  const NBitProduct& p = w.p;
  const size_t stride = p.form.n, n = std::min(kPair, stride - g.n0);
  float* to = p.c + m0 * stride + g.n0;
  alignas(kVector) static constexpr float kNone[kPair] = {};
  alignas(kVector) float own[kPair];
  const bool has_bias = p.bias && g.last == w.layout.blocks;
  if (has_bias) std::fill(std::copy_n(p.bias + g.n0, n, own), own + kPair, 0.0f);
  const float* bias = has_bias ? own : kNone;
  for (size_t m = m0; m < m1; ++m, totals += kPair, to += stride) {
    const auto total = [&](size_t v) HWY_ATTR { return hn::Add(hn::Load(d, totals + v), hn::Load(d, bias + v)); };
    if (n == kPair) {
#pragma GCC unroll 2
      for (size_t v = 0; v < 2; ++v) hn::StoreU(total(v * kLanes), d, to + v * kLanes);
    } else {
      for (size_t v = 0; v < n; v += kLanes) StoreFirst(d, total(v), to + v, std::min(kLanes, n - v));
    }
  }
}

/// Rows in tiles of kRows, the last ones of which have two rows less where that leaves fewer rows to drop.
template <size_t kRows>
struct Tiles {
  size_t count, full;
  explicit Tiles(size_t rows)
      : count(ceil_div(rows, kRows)), full(count - std::min(count, (count * kRows - rows) / 2)) {}
  size_t rows(size_t i) const { return i < full ? kRows : kRows - 2; }
};

/// Expands the panels of a part, two at a time, and multiplies them by its rows: `tile` for kRows of them, `shorter` for
/// two less (or the same function, which drops them).
template <size_t kRows>
void multiply_panels(const Work& w, const Part& part, ExpandedTile tile, ExpandedTile shorter) {
  const Layout& l = w.layout;
  const Expanded e(w.p.form.block);
  const Expand expand_panels = expand_of(w.p.form.bits);
  const Tiles<kRows> tiles(part.m1 - part.m0);
  auto* pair = reinterpret_cast<uint8_t*>(part.expanded);
  const size_t blocks = std::max<size_t>(1, l.blocks), some = e.blocks_at_once(l.blocks);
  const size_t lines = ceil_div(2 * l.panel_bytes / Ahead::kLine, tiles.count * blocks);
  for (size_t at = part.panel0; at < part.panel1; at += 2) {
    Ahead next{static_cast<const uint8_t*>(w.p.packed) + (at + 2) * l.panel_bytes, lines};
    for (size_t b = 0; b < blocks; b += some) {
      const Group group{pair, at * kLanes, b, std::min(b + some, l.blocks)};
      expand_panels(w, {at, part.panel1 - at, b, group.last}, e, 0, pair);  // results of a surplus panel are dropped
      for (size_t i = 0, m = part.m0; i < tiles.count; m += tiles.rows(i++)) {
        const size_t rows = tiles.rows(i);
        (rows == kRows ? tile : shorter)(w, m, std::min(m + rows, part.m1), group, next);
        next.from += lines * (group.last - b) * Ahead::kLine;
      }
    }
  }
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
