#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/fold.cc"
#include "kernels/reduce/fold.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/reduce/walk.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// Folds one more vector; max and min keep NaN.
template <Fold kFold>
HWY_INLINE V step(V a, V v, V shift) {
  if constexpr (kFold == Fold::sum) return hn::Add(a, v);
  if constexpr (kFold == Fold::sum_abs) return hn::Add(a, hn::Abs(v));
  if constexpr (kFold == Fold::sum_square) return hn::MulAdd(v, v, a);
  if constexpr (kFold == Fold::sum_exp) return hn::Add(a, Exp(D(), hn::Sub(v, shift)));
  if constexpr (kFold == Fold::product) return hn::Mul(a, v);
  if constexpr (kFold == Fold::max) return hn::IfThenElse(hn::IsNaN(a), a, MaxKeepNaN(a, v));
  if constexpr (kFold == Fold::min) return hn::IfThenElse(hn::IsNaN(a), a, MinKeepNaN(a, v));
}

template <Fold kFold>
constexpr bool is_sum() {
  return kFold != Fold::product && kFold != Fold::max && kFold != Fold::min;
}

/// Folds two partial results.
template <Fold kFold>
HWY_INLINE V merge(V a, V b) {
  return step < is_sum<kFold>() ? Fold::sum : kFold > (a, b, a);
}

template <Fold kFold>
HWY_INLINE double merge_lanes(V v) {
  const D d;
  if constexpr (is_sum<kFold>()) return double(hn::GetLane(hn::SumOfLanes(d, v)));
  alignas(64) float lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  double a = double(lanes[0]);
  for (size_t i = 1; i < hn::Lanes(d); ++i) a = fold_merge(kFold, a, double(lanes[i]));
  return a;
}

/// Folds blocks of 1024 in four chains; the results of the blocks are merged in double.
template <Fold kFold>
double run(const float* p, size_t n, float shift) {
  constexpr size_t kBlock = 1024;
  const D d;
  const size_t lanes = hn::Lanes(d);
  const V s = hn::Set(d, shift), start = hn::Set(d, float(fold_start(kFold)));
  double total = fold_start(kFold);
  for (size_t i = 0; i < n;) {
    const size_t end = std::min(n, i + kBlock);
    V a0 = start, a1 = start, a2 = start, a3 = start;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      a0 = step<kFold>(a0, hn::LoadU(d, p + i), s);
      a1 = step<kFold>(a1, hn::LoadU(d, p + i + lanes), s);
      a2 = step<kFold>(a2, hn::LoadU(d, p + i + 2 * lanes), s);
      a3 = step<kFold>(a3, hn::LoadU(d, p + i + 3 * lanes), s);
    }
    for (; i + lanes <= end; i += lanes) a0 = step<kFold>(a0, hn::LoadU(d, p + i), s);
    if (i < end) {
      const size_t rest = end - i;
      a1 = hn::IfThenElse(hn::FirstN(d, rest), step<kFold>(a1, LoadFirst(d, p + i, rest), s), a1);
      i = end;
    }
    total = fold_merge(kFold, total, merge_lanes<kFold>(merge<kFold>(merge<kFold>(a0, a1), merge<kFold>(a2, a3))));
  }
  return total;
}

/// Folds kVectors vectors of columns, starting with column `at`; with kVectors = 1, `width` may be less than Lanes.
/// There are two levels: 256 rows are folded before they are added to the result, so that long sums stay accurate.
template <Fold kFold, size_t kVectors>
HWY_INLINE void columns(const FoldColumns& c, size_t at, size_t width) {
  constexpr size_t kLevel = 64;
  const D d;
  const size_t lanes = hn::Lanes(d);
  const InnerRun run = inner_run(*c.plan);
  const V start = hn::Set(d, float(fold_start(kFold)));
  V shift[kVectors], a[kVectors], result[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    shift[v] = hn::LoadU(d, c.shift + at + v * lanes);
    a[v] = result[v] = start;
  }
  size_t pending = 0;
  for_reduced(*c.plan, c.first + at, [&](size_t offset) HWY_ATTR {
    const float* p = c.x + offset;
    for (size_t k = 0; k < run.extent; ++k, p += run.stride) {
      if (pending++ == kLevel) {
        for (size_t v = 0; v < kVectors; ++v) {
          result[v] = merge<kFold>(result[v], a[v]);
          a[v] = start;
        }
        pending = 1;
      }
      if (kVectors == 1 && width < lanes) {
        a[0] = step<kFold>(a[0], LoadFirst(d, p, width), shift[0]);
      } else {
        for (size_t v = 0; v < kVectors; ++v) a[v] = step<kFold>(a[v], hn::LoadU(d, p + v * lanes), shift[v]);
      }
    }
  });
  for (size_t v = 0; v < kVectors; ++v) {
    const V y = merge<kFold>(result[v], a[v]);
    if (kVectors == 1 && width < lanes) {
      StoreFirst(d, y, c.y + at, width);
    } else {
      hn::StoreU(y, d, c.y + at + v * lanes);
    }
  }
}

template <Fold kFold>
void tile(const FoldColumns& c) {
  const size_t lanes = hn::Lanes(D());
  size_t at = 0;
  for (; at + 4 * lanes <= c.width; at += 4 * lanes) columns<kFold, 4>(c, at, 4 * lanes);
  for (; at < c.width; at += lanes) columns<kFold, 1>(c, at, std::min(lanes, c.width - at));
}

}  // namespace

double fold_run(Fold fold, const float* x, size_t n, float shift) {
  switch (fold) {
    case Fold::sum:
      return run<Fold::sum>(x, n, shift);
    case Fold::sum_abs:
      return run<Fold::sum_abs>(x, n, shift);
    case Fold::sum_square:
      return run<Fold::sum_square>(x, n, shift);
    case Fold::sum_exp:
      return run<Fold::sum_exp>(x, n, shift);
    case Fold::product:
      return run<Fold::product>(x, n, shift);
    case Fold::max:
      return run<Fold::max>(x, n, shift);
    case Fold::min:
      return run<Fold::min>(x, n, shift);
  }
  return 0;
}

void fold_tile(Fold fold, const FoldColumns& c) {
  switch (fold) {
    case Fold::sum:
      return tile<Fold::sum>(c);
    case Fold::sum_abs:
      return tile<Fold::sum_abs>(c);
    case Fold::sum_square:
      return tile<Fold::sum_square>(c);
    case Fold::sum_exp:
      return tile<Fold::sum_exp>(c);
    case Fold::product:
      return tile<Fold::product>(c);
    case Fold::max:
      return tile<Fold::max>(c);
    case Fold::min:
      return tile<Fold::min>(c);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

FoldRun fold_run() { return RETORT_SELECT(fold_run); }
FoldTile fold_tile() { return RETORT_SELECT(fold_tile); }

}  // namespace retort::kernels
#endif
