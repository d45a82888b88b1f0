// The register tile of SSE, which has no instruction that copies an element from memory to all lanes: it takes a
// shuffle per element of A, which keeps the units that multiply and add busy. So the tile is wide and low: each copy
// serves the six vectors of three panels, which are read from memory as they are multiplied. On Zen 5, 72 to 77 % of the
// peak of multiplications and additions, where six rows by two vectors reach 55 to 59 %.
// Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_GEMM_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_WIDE_INL_H_
#undef RETORT_KERNELS_GEMM_WIDE_INL_H_
#else
#define RETORT_KERNELS_GEMM_WIDE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

/// Whether products of float panels use this tile.
constexpr bool kHasWideTile = HWY_TARGET == HWY_SSE4;
constexpr size_t kWideRows = 2, kWidePanels = 3, kWideColumns = kWidePanels * kWidth;

template <size_t kRows>
struct WideTile {
  Accumulators<kRows, 2, false> acc[kWidePanels];

  /// Adds x, the element of row r in all lanes, times step b of the panels, which are `apart` floats from each other.
  HWY_INLINE void add(size_t r, Float x, const float* b, size_t apart) {
#pragma GCC unroll 3
    for (size_t p = 0; p < kWidePanels; ++p) {
      add_product(x, hn::Load(FloatTag(), b + p * apart), acc[p].full[r][0]);
      add_product(x, hn::Load(FloatTag(), b + p * apart + kLanes), acc[p].full[r][1]);
    }
  }

  /// Step kLane of four.
  template <int kLane>
  HWY_INLINE void step(const float* a, size_t a_stride, const float* b, size_t apart) {
    const hn::RebindToSigned<FloatTag> di;  // the shuffle of integers does not overwrite its source
#pragma GCC unroll 2
    for (size_t r = 0; r < kRows; ++r) {
      const auto four = hn::BitCast(di, hn::LoadU(FloatTag(), a + r * a_stride));
      add(r, hn::BitCast(FloatTag(), hn::Broadcast<kLane>(four)), b + kLane * kWidth, apart);
    }
  }
};

/// kRows rows times three neighbouring full panels of floats. Sums have the order of tile()'s.
template <size_t kRows>
void wide_tile(const TileArgs& whole, size_t apart) noexcept {
  WideTile<kRows> tile;
#pragma GCC unroll 3
  for (auto& acc : tile.acc) acc.zero();
  const float *a = whole.a, *b = static_cast<const float*>(whole.b);
  const size_t k = whole.k, a_stride = whole.a_stride;
  size_t i = 0;
  for (; i + 4 <= k; i += 4, a += 4, b += 4 * kWidth) {
    tile.template step<0>(a, a_stride, b, apart);
    tile.template step<1>(a, a_stride, b, apart);
    tile.template step<2>(a, a_stride, b, apart);
    tile.template step<3>(a, a_stride, b, apart);
  }
  for (; i < k; ++i, ++a, b += kWidth) {
#pragma GCC unroll 2
    for (size_t r = 0; r < kRows; ++r) tile.add(r, hn::Set(FloatTag(), a[r * a_stride]), b, apart);
  }
  TileArgs t = whole;
#pragma GCC unroll 3
  for (size_t p = 0; p < kWidePanels; ++p, t.c += kWidth) {
    finish(t, tile.acc[p]);
    if (t.bias) t.bias += kWidth;
    if (t.addend) t.addend += kWidth;
  }
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
