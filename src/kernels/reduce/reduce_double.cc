#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/reduce_double.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/dispatch.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/reduce/fold.h"
#include "kernels/reduce/walk.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using DoubleTag = hn::ScalableTag<double>;
using Double = hn::Vec<DoubleTag>;

/// One more vector; NaN sticks in max and min.
template <Fold kFold>
HWY_INLINE Double add_double(Double sum, Double v) {
  if constexpr (kFold == Fold::max) return hn::IfThenElse(hn::IsNaN(sum), sum, MaxKeepNaN(sum, v));
  if constexpr (kFold == Fold::min) return hn::IfThenElse(hn::IsNaN(sum), sum, MinKeepNaN(sum, v));
  if constexpr (kFold == Fold::sum_abs) return hn::Add(sum, hn::Abs(v));
  if constexpr (kFold == Fold::sum_square) return hn::MulAdd(v, v, sum);
  return hn::Add(sum, v);
}

template <Fold kFold>
double fold_doubles(const double* p, size_t n) {
  const DoubleTag d;
  const size_t lanes = hn::Lanes(d);
  const Double start = hn::Set(d, fold_start(kFold));
  Double s[4] = {start, start, start, start};
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) s[v] = add_double<kFold>(s[v], hn::LoadU(d, p + i + v * lanes));
  }
  for (; i + lanes <= n; i += lanes) s[0] = add_double<kFold>(s[0], hn::LoadU(d, p + i));
  if (i < n) s[1] = hn::IfThenElse(hn::FirstN(d, n - i), add_double<kFold>(s[1], LoadFirst(d, p + i, n - i)), s[1]);
  constexpr Fold kMerge = kFold == Fold::max || kFold == Fold::min ? kFold : Fold::sum;
  alignas(64) double parts[hn::MaxLanes(d)];
  hn::Store(add_double<kMerge>(add_double<kMerge>(s[0], s[1]), add_double<kMerge>(s[2], s[3])), d, parts);
  double total = parts[0];
  for (size_t l = 1; l < lanes; ++l) total = fold_merge(kMerge, total, parts[l]);
  return total;
}

/// kVectors vectors of columns, or with kVectors = 1 perhaps only the first `width`.
template <Fold kFold, size_t kVectors>
void fold_column_vectors(const DoubleColumns& c, size_t at, size_t width) {
  const DoubleTag d;
  const size_t lanes = hn::Lanes(d);
  const InnerRun run = inner_run(*c.plan);
  Double s[kVectors];
  for (size_t v = 0; v < kVectors; ++v) s[v] = hn::Set(d, fold_start(kFold));
  for_reduced(*c.plan, c.first + at, [&](size_t offset) HWY_ATTR {
    const double* p = c.x + offset;
    for (size_t k = 0; k < run.extent; ++k, p += run.stride) {
      if (kVectors == 1 && width < lanes) {
        s[0] = add_double<kFold>(s[0], LoadFirst(d, p, width));
      } else {
        for (size_t v = 0; v < kVectors; ++v) s[v] = add_double<kFold>(s[v], hn::LoadU(d, p + v * lanes));
      }
    }
  });
  for (size_t v = 0; v < kVectors; ++v) {
    if (kVectors == 1 && width < lanes)
      StoreFirst(d, s[v], c.y + at, width);
    else
      hn::StoreU(s[v], d, c.y + at + v * lanes);
  }
}

template <Fold kFold>
void fold_double_tile(const DoubleColumns& c) {
  const size_t lanes = hn::Lanes(DoubleTag());
  size_t at = 0;
  for (; at + 8 * lanes <= c.width; at += 8 * lanes) fold_column_vectors<kFold, 8>(c, at, 8 * lanes);
  for (; at < c.width; at += lanes) fold_column_vectors<kFold, 1>(c, at, std::min(lanes, c.width - at));
}

}  // namespace

double double_run(Fold fold, const double* x, size_t n) {
  switch (fold) {
    case Fold::sum_abs:
      return fold_doubles<Fold::sum_abs>(x, n);
    case Fold::sum_square:
      return fold_doubles<Fold::sum_square>(x, n);
    case Fold::max:
      return fold_doubles<Fold::max>(x, n);
    case Fold::min:
      return fold_doubles<Fold::min>(x, n);
    default:
      return fold_doubles<Fold::sum>(x, n);
  }
}
void double_tile(Fold fold, const DoubleColumns& c) {
  switch (fold) {
    case Fold::sum_abs:
      return fold_double_tile<Fold::sum_abs>(c);
    case Fold::sum_square:
      return fold_double_tile<Fold::sum_square>(c);
    case Fold::max:
      return fold_double_tile<Fold::max>(c);
    case Fold::min:
      return fold_double_tile<Fold::min>(c);
    default:
      return fold_double_tile<Fold::sum>(c);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

Fold double_fold(Reduce op) {
  switch (op) {
    case Reduce::l1:
      return Fold::sum_abs;
    case Reduce::l2:
    case Reduce::sum_square:
      return Fold::sum_square;
    case Reduce::max:
      return Fold::max;
    case Reduce::min:
      return Fold::min;
    default:
      return Fold::sum;
  }
}

double finish_fold(Reduce op, double sum, size_t count) {
  return op == Reduce::mean      ? sum / double(count)
         : op == Reduce::l2      ? std::sqrt(sum)
         : op == Reduce::log_sum ? std::log(sum)
                                 : sum;
}

/// One number from a long run: at most 64 parts, added in their order.
double fold_whole(Fold fold, const double* x, size_t n, const Parallel& par) {
  constexpr size_t kParts = 64;
  const auto run = RETORT_SELECT(double_run);
  const size_t part = std::max(kChunk, (n + kParts - 1) / kParts);
  std::array<double, kParts> partial;
  partial.fill(fold_start(fold));
  for_chunks(
      par, n, [&](size_t begin, size_t end) { partial[begin / part] = run(fold, x + begin, end - begin); }, part);
  double total = fold_start(fold);
  for (const double p : partial) total = fold_merge(fold, total, p);
  return total;
}

void fold_double_columns(Reduce op, const double* x, double* y, const ReducePlan& plan, const Parallel& par) {
  const auto sum = RETORT_SELECT(double_tile);
  const Fold fold = double_fold(op);
  const size_t inner = plan.kept.extents[plan.kept.rank - 1], tiles = (inner + kFoldColumns - 1) / kFoldColumns;
  const auto task = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t at = t % tiles * kFoldColumns, i = t / tiles * inner + at;
      const size_t width = std::min(kFoldColumns, inner - at);
      sum(fold, {x, &plan, plan.offset(i), width, y + i});
      for (size_t c = 0; c < width; ++c) y[i + c] = finish_fold(op, y[i + c], plan.count);
    }
  };
  const size_t work = std::max<size_t>(1, plan.count) * std::min(inner, kFoldColumns);
  for_chunks(par, plan.outputs / inner * tiles, task, std::max<size_t>(1, kChunk / work));
}

}  // namespace

bool reduces_double(Reduce op) { return op != Reduce::prod && op != Reduce::log_sum_exp; }

template <>
void reduce<double>(Reduce op, const double* x, double* y, const ReducePlan& plan, const Parallel& par) noexcept {
  if (plan.outputs == 0) return;
  const Fold fold = double_fold(op);
  if (!plan.rows) return fold_double_columns(op, x, y, plan, par);
  if (plan.outputs == 1 && plan.reduced.rank == 1) {
    y[0] = finish_fold(op, fold_whole(fold, x, plan.count, par), plan.count);
    return;
  }
  const auto run = RETORT_SELECT(double_run);
  const size_t n = inner_run(plan).extent;
  const auto task = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      double total = fold_start(fold);
      for_reduced(plan, plan.offset(i), [&](size_t at) { total = fold_merge(fold, total, run(fold, x + at, n)); });
      y[i] = finish_fold(op, total, plan.count);
    }
  };
  for_chunks(par, plan.outputs, task, std::max<size_t>(1, kChunk / std::max<size_t>(1, plan.count)));
}

}  // namespace retort::kernels
#endif
