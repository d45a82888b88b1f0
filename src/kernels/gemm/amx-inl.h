// The register tile of products in bfloat16 arithmetic by AMX: up to 32 rows of A times one panel. Included once per
// instruction level (see dispatch.h); only the highest one uses it.
#if defined(RETORT_KERNELS_GEMM_AMX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_AMX_INL_H_
#undef RETORT_KERNELS_GEMM_AMX_INL_H_
#else
#define RETORT_KERNELS_GEMM_AMX_INL_H_
#endif

#include <algorithm>

#include "base/checked.h"
#include "kernels/gemm/amx.h"
#include "kernels/gemm/gemm_plan.h"
#include "kernels/gemm/panel.h"
#include "kernels/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using gemm_detail::AmxRows;
constexpr size_t kAmxStep = amx::kStepPairs;  ///< steps of k, which are pairs
#if HWY_TARGET <= HWY_AVX3
constexpr size_t kAmxRows = 2 * amx::kRows;
static_assert(kWidth == amx::kPanel);

/// The rows of the registers for tiles of equal size, of which each has at most kAmxRows; the last ones may have one
/// row less. None if other instructions are faster.
inline AmxRows amx_rows(const gemm_detail::Part& part, size_t k) {
  // Beside other work: 4 rows by 768 x 768, in the caches, take 28 µs by AMX and 93 by vectors; by 768 x 3072 with
  // cold weights, 421 and 349, the smaller loss of the two; 8 cold rows 511 and 763.
  constexpr size_t kLeastRows = 4;
  const size_t rows = part.m1 - part.m0;
  if ((rows < kLeastRows && part.a_step == 0) || k == 0) return {};
  const size_t most = ceil_div(rows, ceil_div(rows, kAmxRows));
  const size_t first = most <= amx::kRows ? most : (most + 1) / 2;
  return {first, most - first};
}

/// Stores act(sums + bias + addend) of kRows rows.
template <size_t kRows>
void finish_sums(const TileArgs& t, const float* sums) {
  Accumulators<kRows, 2, false> acc;
  acc.for_each([sums](auto d, auto& v, size_t r, size_t at) HWY_ATTR { v = hn::LoadU(d, sums + r * kWidth + at); });
  finish(t, acc);
}

/// Computes `rows` rows, which are as many as the registers have, or one less. If one less, the registers also take the
/// row before, which exists, and its results are dropped.
inline void amx_tile(const TileArgs& whole, const AmxRows& registers, size_t rows) {
  constexpr size_t kTogether = 4;
  HWY_ALIGN float sums[kAmxRows * kWidth];
  TileArgs t = whole;
  amx::PairTile tile;
  const size_t surplus = registers.count() - rows;
  tile.a = t.a - surplus * t.a_stride;
  tile.a_stride = t.a_stride;
  if (t.amx.a_step > 0) tile.a_step = t.amx.a_step;
  tile.first = registers.first;
  tile.second = registers.second;
  tile.b = t.b;
  tile.steps = t.k / kAmxStep;
  tile.last_b = t.amx.last_b;
  tile.prefetch = t.prefetch_own ? static_cast<const char*>(t.b) + 8192 : t.prefetch;
  tile.prefetch_lines = t.prefetch_own ? 2 * kAmxStep : t.prefetch_lines * kAmxStep / 4;
  amx::sum_pairs(tile, sums);
  const float* from = sums + surplus * kWidth;
  const auto advance = [&](size_t by) {
    from += by * kWidth;
    t.c += by * t.c_stride;
    if (t.addend) t.addend += by * t.addend_stride;
  };
  for (; rows >= kTogether; rows -= kTogether, advance(kTogether)) finish_sums<kTogether>(t, from);
  for (; rows > 0; --rows, advance(1)) finish_sums<1>(t, from);
}

/// Copies the last steps of k of a panel, which do not fill a step of the registers, and zeros after them.
inline const float* copy_last_steps(const TileArgs& t, float* to) {
  const size_t count = t.k % kAmxStep * kWidth;
  const float* const from = static_cast<const float*>(t.b) + t.k * kWidth - count;
  std::fill_n(std::copy_n(from, count, to), kAmxStep * kWidth - count, 0.0f);
  return to;
}
#else
constexpr size_t kAmxRows = kMaxRows;
inline AmxRows amx_rows(const gemm_detail::Part&, size_t) { return {}; }
inline void amx_tile(const TileArgs&, const AmxRows&, size_t) {}
inline const float* copy_last_steps(const TileArgs&, float*) { return nullptr; }
#endif

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
