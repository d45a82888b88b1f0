// Adds the products of a transposed convolution to few channels (conv_transpose_columns.cc).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/conv_transpose_sums.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv/conv_transpose_plan.h"
#include "kernels/conv/lanes-inl.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using conv_detail::RunSums;

/// Run x, to which blocks [first, last) add, the last of them fewer floats if it is `cut`. Whole vectors are stored: what
/// follows the run is overwritten by the next.
template <class D>
HWY_INLINE void sum_run(D d, const RunSums& s, size_t x, size_t first, size_t last, bool cut) {
  const ptrdiff_t block_step = ptrdiff_t(s.run) - ptrdiff_t(s.pixel_step);
  const size_t whole = last - cut;
  float* const to = s.to + x * s.run;
  for (size_t i = 0; i < s.run; i += hn::Lanes(d)) {
    auto sum = hn::LoadU(d, s.bias + i);
    const float* row = s.products + i;
    for (size_t r = 0; r < s.rows; ++r, row += s.row_step) {
      const float* from = row + ptrdiff_t(x * s.pixel_step) + ptrdiff_t(first) * block_step;
      for (size_t b = first; b < whole; ++b, from += block_step) sum = hn::Add(sum, hn::LoadU(d, from));
      if (cut && i < s.last_run)
        sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, s.last_run - i), hn::LoadU(d, from)));
    }
    hn::StoreU(sum, d, to + i);
  }
}

/// Runs [x0, x1) of kVectors vectors each, to which all of kBlocks blocks add.
template <size_t kVectors, size_t kRows, size_t kBlocks, class D>
void sum_whole(D d, const RunSums& s, size_t x0, size_t x1) {
  const ptrdiff_t second = ptrdiff_t(s.run) - ptrdiff_t(s.pixel_step);
  hn::Vec<D> bias[kVectors];
  hn::Mask<D> last[kVectors];
#pragma GCC unroll 2
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t at = v * hn::Lanes(d);
    bias[v] = hn::LoadU(d, s.bias + at);
    last[v] = hn::FirstN(d, std::max(s.last_run, at) - at);
  }
  const float* from = s.products + x0 * s.pixel_step;
  for (size_t x = x0; x < x1; ++x, from += s.pixel_step) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) {
      auto sum = bias[v];
#pragma GCC unroll 2
      for (size_t r = 0; r < kRows; ++r) {
        const float* const row = from + v * hn::Lanes(d) + ptrdiff_t(r) * s.row_step;
        sum = hn::Add(sum, hn::LoadU(d, row));
        if (kBlocks > 1) sum = hn::Add(sum, hn::IfThenElseZero(last[v], hn::LoadU(d, row + second)));
      }
      hn::StoreU(sum, d, s.to + x * s.run + v * hn::Lanes(d));
    }
  }
}

template <size_t kVectors, class D>
void sum_whole_runs(D d, const RunSums& s, size_t x0, size_t x1) {
  if (s.blocks == 1)
    return s.rows == 1 ? sum_whole<kVectors, 1, 1>(d, s, x0, x1) : sum_whole<kVectors, 2, 1>(d, s, x0, x1);
  s.rows == 1 ? sum_whole<kVectors, 1, 2>(d, s, x0, x1) : sum_whole<kVectors, 2, 2>(d, s, x0, x1);
}

/// As far as all blocks add and runs are short: kernels that are as wide as the stride, or up to twice as wide, as in
/// most layers that make images larger. Returns the first run that is left.
template <class D>
size_t sum_most(D d, const RunSums& s, size_t x0) {
  const size_t x1 = std::min(s.runs, s.pixels), lanes = hn::Lanes(d);
  if (s.rows - 1 > 1 || s.blocks > 2 || x0 >= x1 || (s.blocks == 1 && s.last_run < s.run)) return x0;
  constexpr size_t kLongest = std::min<size_t>(HWY_MAX_BYTES / sizeof(float), conv_detail::kRunSlack);
  if (s.run <= lanes) {
    sum_whole_runs<1>(d, s, x0, x1);
    return x1;
  }
  if constexpr (hn::MaxLanes(D()) == kLongest) {  // shorter vectors have no longer runs
    if (s.run <= 2 * lanes) {
      sum_whole_runs<2>(d, s, x0, x1);
      return x1;
    }
  }
  return x0;
}

template <class D>
void sum_all(D d, const RunSums& s) {
  const size_t first_whole = s.blocks - 1;
  for (size_t x = 0; x < s.runs; ++x) {
    if (x == first_whole && (x = sum_most(d, s, x)) == s.runs) break;
    const size_t first = x < s.pixels ? 0 : x - s.pixels + 1, last = std::min(s.blocks, x + 1);
    const bool cut = last == s.blocks && s.last_run < s.run;
    sum_run(d, s, x, std::min(first, last), last, cut && first < last);
  }
}

}  // namespace

/// Two short vectors are as fast as a long one, of which most may be empty.
void sum_runs(const RunSums& s) noexcept {
  if (s.run <= 4) {
    sum_all(hn::CappedTag<float, 4>(), s);
  } else {
    sum_all(hn::CappedTag<float, conv_detail::kRunSlack>(), s);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {

SumRuns sum_runs() { return RETORT_SELECT(sum_runs); }

}  // namespace retort::kernels::conv_detail
#endif
