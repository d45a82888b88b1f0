#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/fold.cc"
#include "kernels/reduce/fold.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/reduce/walk.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// Folds one more vector; max and min keep NaN.
template <Fold kFold, class Vector>
HWY_INLINE Vector step(Vector a, Vector v, Vector shift) {
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
template <Fold kFold, class Vector>
HWY_INLINE Vector merge(Vector a, Vector b) {
  return step < is_sum<kFold>() ? Fold::sum : kFold > (a, b, a);
}

template <Fold kFold, class Tag>
HWY_INLINE double merge_lanes(Tag d, hn::Vec<Tag> v) {
  if constexpr (kFold == Fold::product) {  // in double: a part may be infinite or 0 where the whole product is neither
    alignas(64) float lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    double all = 1;
    for (const float x : lanes) all *= double(x);
    return all;
  } else if constexpr (hn::MaxLanes(d) > 4) {
    const hn::Half<Tag> half;
    return merge_lanes<kFold>(half, merge<kFold>(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    v = merge<kFold>(v, hn::Shuffle1032(v));
    return double(hn::GetLane(merge<kFold>(v, hn::Shuffle2301(v))));
  }
}

/// Folds blocks of 1024 in four chains; the results of the blocks are merged in double.
template <Fold kFold>
HWY_INLINE double run(const float* p, size_t n, float shift) {
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
    const V all = merge<kFold>(merge<kFold>(a0, a1), merge<kFold>(a2, a3));
    total = fold_merge(kFold, total, merge_lanes<kFold>(d, all));
  }
  return total;
}

// Vectors of columns that are folded together: enough for four cache lines of each row.
constexpr size_t kVectors = std::max<size_t>(8, 256 / HWY_MAX_BYTES);
constexpr size_t kLevel = 64;  // rows that are folded before they are added to the result: long sums stay accurate

/// `rows` rows of some columns.
struct Rows {
  const float* p;
  size_t rows, stride;
  const float* shift;
};

/// Folds kCount vectors of each row into a, starting with vector `at`; the last vector has n lanes.
template <Fold kFold, size_t kCount>
HWY_INLINE void fold_rows(const Rows& r, size_t at, size_t n, V* a) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kCount];  // not in memory, where each row would wait for the one before to be stored
#pragma GCC unroll 8
  for (size_t v = 0; v < kCount; ++v) sums[v] = a[at + v];
  const float* p = r.p + at * lanes;
  for (size_t k = 0; k < r.rows; ++k, p += r.stride) {
#pragma GCC unroll 8
    for (size_t v = 0; v < kCount; ++v) {
      const V x = kCount > 1 || n == lanes ? hn::LoadU(d, p + v * lanes) : LoadFirst(d, p, n);
      sums[v] = step<kFold>(sums[v], x, hn::LoadU(d, r.shift + (at + v) * lanes));
    }
  }
#pragma GCC unroll 8
  for (size_t v = 0; v < kCount; ++v) a[at + v] = sums[v];
}

/// Folds `width` columns, at most kVectors vectors, into a.
template <Fold kFold>
void fold_block(const Rows& r, size_t width, V* a) {
  const size_t lanes = hn::Lanes(D());
  size_t v = 0;
  if constexpr (kFold != Fold::sum_exp) {  // whose own work is long enough
    for (; (v + 8) * lanes <= width; v += 8) fold_rows<kFold, 8>(r, v, lanes, a);
    for (; (v + 4) * lanes <= width; v += 4) fold_rows<kFold, 4>(r, v, lanes, a);
  }
  for (; v * lanes < width; ++v) fold_rows<kFold, 1>(r, v, std::min(lanes, width - v * lanes), a);
}

/// Folds `width` columns, at most kVectors vectors, starting with column `at`.
template <Fold kFold>
HWY_INLINE void columns(const FoldColumns& c, size_t at, size_t width) {
  const D d;
  const size_t lanes = hn::Lanes(d), vectors = ceil_div(width, lanes);
  const InnerRun run = inner_run(*c.plan);
  const V start = hn::Set(d, float(fold_start(kFold)));
  V a[kVectors], result[kVectors];
#pragma GCC unroll 1
  for (size_t v = 0; v < vectors; ++v) a[v] = start;
  size_t pending = 0;
  bool first = true;  // nothing is in the result
  for_reduced(*c.plan, c.first + at, [&](size_t offset) HWY_ATTR {
    for (size_t k = 0; k < run.extent;) {
      if (pending == kLevel) {
#pragma GCC unroll 1
        for (size_t v = 0; v < vectors; ++v) result[v] = first ? a[v] : merge<kFold>(result[v], a[v]), a[v] = start;
        pending = 0;
        first = false;
      }
      const size_t rows = std::min(kLevel - pending, run.extent - k);
      fold_block<kFold>({c.x + offset + k * run.stride, rows, run.stride, c.shift + at}, width, a);
      pending += rows;
      k += rows;
    }
  });
#pragma GCC unroll 1
  for (size_t v = 0; v < vectors; ++v) {
    const V y = first ? a[v] : merge<kFold>(result[v], a[v]);
    float* const to = c.y + at + v * lanes;
    if (width - v * lanes < lanes) {
      StoreFirst(d, y, to, width - v * lanes);
    } else {
      hn::StoreU(y, d, to);
    }
  }
}

template <Fold kFold>
void tile(const FoldColumns& c) {
  const size_t step = kVectors * hn::Lanes(D());
  for (size_t at = 0; at < c.width; at += step) columns<kFold>(c, at, std::min(step, c.width - at));
}

}  // namespace

void fold_rows(Fold fold, const FoldRows& r) {
  const auto each = [&r](const auto& run) {
    for (size_t i = 0; i < r.rows; ++i) r.y[i] = run(r.x + i * r.stride, r.n, r.shift[i]);
  };
  switch (fold) {
    case Fold::sum:
      return each(run<Fold::sum>);
    case Fold::sum_abs:
      return each(run<Fold::sum_abs>);
    case Fold::sum_square:
      return each(run<Fold::sum_square>);
    case Fold::sum_exp:
      return each(run<Fold::sum_exp>);
    case Fold::product:
      return each(run<Fold::product>);
    case Fold::max:
      return each(run<Fold::max>);
    case Fold::min:
      return each(run<Fold::min>);
  }
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

FoldRowsFn fold_rows() { return RETORT_SELECT(fold_rows); }
FoldTile fold_tile() { return RETORT_SELECT(fold_tile); }

}  // namespace retort::kernels
#endif
