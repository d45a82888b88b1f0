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

/// Runs [x0, x1) of one vector each, to which all of kBlocks blocks add.
template <size_t kRows, size_t kBlocks, class D>
void sum_whole(D d, const RunSums& s, size_t x0, size_t x1) {
  const auto bias = hn::LoadU(d, s.bias);
  const auto last = hn::FirstN(d, s.last_run);
  const ptrdiff_t second = ptrdiff_t(s.run) - ptrdiff_t(s.pixel_step);
  const float* from = s.products + x0 * s.pixel_step;
  for (size_t x = x0; x < x1; ++x, from += s.pixel_step) {
    auto sum = bias;
#pragma GCC unroll 2
    for (size_t r = 0; r < kRows; ++r) {
      const float* const row = from + ptrdiff_t(r) * s.row_step;
      sum = hn::Add(sum, hn::LoadU(d, row));
      if (kBlocks > 1) sum = hn::Add(sum, hn::IfThenElseZero(last, hn::LoadU(d, row + second)));
    }
    hn::StoreU(sum, d, s.to + x * s.run);
  }
}

/// As far as all blocks add and runs fit a vector: kernels that are as wide as the stride, or up to twice as wide, as in
/// most layers that make images larger. Returns the first run that is left.
template <class D>
size_t sum_most(D d, const RunSums& s, size_t x0) {
  const size_t x1 = std::min(s.runs, s.pixels);
  if (s.rows - 1 > 1 || s.blocks > 2 || s.run > hn::Lanes(d) || x0 >= x1) return x0;
  if (s.blocks == 1 && s.last_run < s.run) return x0;
  const auto sum = s.blocks == 1 ? (s.rows == 1 ? &sum_whole<1, 1, D> : &sum_whole<2, 1, D>)
                                 : (s.rows == 1 ? &sum_whole<1, 2, D> : &sum_whole<2, 2, D>);
  sum(d, s, x0, x1);
  return x1;
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
