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

constexpr size_t kVector = HWY_MAX_BYTES;

/// A pair of panels: for each block the codes [block / 4][2][lanes][4], then two vectors of scales and two of zero points.
struct Expanded {
  size_t codes, block;  ///< bytes of the codes, and of all that belongs to a block
  explicit Expanded(size_t block_size) : codes(block_size / 2 * kVector), block(codes + 4 * kVector) {}
};

template <size_t kBits, size_t kQuad = 0>
HWY_INLINE void expand_vector(Words packed, uint8_t less, uint8_t* to) {
  const hn::Repartition<uint8_t, WordTag> d;
  hn::Store(hn::Sub(hn::BitCast(d, quad_of<kBits, kQuad>(packed)), hn::Set(d, less)), d, to + 2 * kQuad * kVector);
  if constexpr (kQuad + 1 < 8 / kBits) expand_vector<kBits, kQuad + 1>(packed, less, to);
}

/// Expands panel `at` to the first (side 0) or second panel of a pair; `less` is subtracted from the codes.
template <size_t kBits>
void expand(const Work& w, size_t at, size_t side, uint8_t less, uint8_t* to) {
  const FloatTag d;
  const Layout& l = w.layout;
  const Expanded e(w.p.form.block);
  const uint8_t* panel = static_cast<const uint8_t*>(w.p.packed) + at * l.panel_bytes;
  for (size_t b = 0; b < l.blocks; ++b, to += e.block) {
    const uint8_t* codes = l.block(panel, b);
    for (size_t v = 0; v < l.vectors; ++v) {
      const Words packed = hn::LoadU(WordTag(), reinterpret_cast<const uint32_t*>(codes + v * kVector));
      expand_vector<kBits>(packed, less, to + (v * (8 / kBits) * 2 + side) * kVector);
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

/// Computes kRows rows from m0 on, of which those from m1 on are dropped, for the columns of a pair of panels from n0 on.
using ExpandedTile = void (*)(const Work&, size_t m0, size_t m1, size_t n0, const uint8_t* pair, Ahead ahead) noexcept;

/// Expands the panels of a part, two at a time, and multiplies them by its rows, kRows at a time.
template <size_t kRows>
void multiply_panels(const Work& w, const Part& part, ExpandedTile tile) {
  const size_t bits = w.p.form.bits;
  const auto expand_panel = bits == 4 ? &expand<4> : bits == 8 ? &expand<8> : &expand<2>;
  auto* pair = reinterpret_cast<uint8_t*>(part.expanded);
  const size_t pair_bytes = 2 * w.layout.panel_bytes, tiles = ceil_div(part.m1 - part.m0, kRows);
  const size_t lines = ceil_div(pair_bytes / Ahead::kLine, tiles * w.layout.blocks);
  for (size_t at = part.panel0; at < part.panel1; at += 2) {
    expand_panel(w, at, 0, 0, pair);
    expand_panel(w, std::min(at + 1, part.panel1 - 1), 1, 0, pair);  // without a second panel, its results are dropped
    Ahead next{static_cast<const uint8_t*>(w.p.packed) + at * w.layout.panel_bytes + pair_bytes, lines};
    for (size_t m = part.m0; m < part.m1; m += kRows, next.from += lines * w.layout.blocks * Ahead::kLine)
      tile(w, m, std::min(m + kRows, part.m1), at * kLanes, pair, next);
  }
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
