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

template <class D>
void sum_all(D d, const RunSums& s) {
  for (size_t x = 0; x < s.runs; ++x) {
    const size_t first = x < s.pixels ? 0 : x - s.pixels + 1, last = std::min(s.blocks, x + 1);
    const bool cut = last == s.blocks && s.last_run < s.run;
    // Most have two blocks, which the compiler then knows.
    if (first != 0 || last != 2) {
      sum_run(d, s, x, std::min(first, last), last, cut && first < last);
    } else if (cut) {
      sum_run(d, s, x, 0, 2, true);
    } else {
      sum_run(d, s, x, 0, 2, false);
    }
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
