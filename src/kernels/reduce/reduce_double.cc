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

/// What is added for an element.
template <Fold kFold>
HWY_INLINE Double add_double(Double sum, Double v) {
  if constexpr (kFold == Fold::sum_abs) return hn::Add(sum, hn::Abs(v));
  if constexpr (kFold == Fold::sum_square) return hn::MulAdd(v, v, sum);
  return hn::Add(sum, v);
}

template <Fold kFold>
double sum_run(const double* p, size_t n) {
  const DoubleTag d;
  const size_t lanes = hn::Lanes(d);
  Double s[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v) s[v] = add_double<kFold>(s[v], hn::LoadU(d, p + i + v * lanes));
  }
  for (; i + lanes <= n; i += lanes) s[0] = add_double<kFold>(s[0], hn::LoadU(d, p + i));
  if (i < n) s[1] = add_double<kFold>(s[1], LoadFirst(d, p + i, n - i));  // zeros behind
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s[0], s[1]), hn::Add(s[2], s[3]))));
}

/// kVectors vectors of columns, or with kVectors = 1 perhaps only the first `width`.
template <Fold kFold, size_t kVectors>
void sum_columns(const DoubleColumns& c, size_t at, size_t width) {
  const DoubleTag d;
  const size_t lanes = hn::Lanes(d);
  const InnerRun run = inner_run(*c.plan);
  Double s[kVectors];
  for (size_t v = 0; v < kVectors; ++v) s[v] = hn::Zero(d);
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
void sum_tile(const DoubleColumns& c) {
  const size_t lanes = hn::Lanes(DoubleTag());
  size_t at = 0;
  for (; at + 8 * lanes <= c.width; at += 8 * lanes) sum_columns<kFold, 8>(c, at, 8 * lanes);
  for (; at < c.width; at += lanes) sum_columns<kFold, 1>(c, at, std::min(lanes, c.width - at));
}

}  // namespace

double double_run(Fold fold, const double* x, size_t n) {
  return fold == Fold::sum_abs      ? sum_run<Fold::sum_abs>(x, n)
         : fold == Fold::sum_square ? sum_run<Fold::sum_square>(x, n)
                                    : sum_run<Fold::sum>(x, n);
}
void double_tile(Fold fold, const DoubleColumns& c) {
  return fold == Fold::sum_abs      ? sum_tile<Fold::sum_abs>(c)
         : fold == Fold::sum_square ? sum_tile<Fold::sum_square>(c)
                                    : sum_tile<Fold::sum>(c);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

Fold double_fold(Reduce op) {
  return op == Reduce::l1 ? Fold::sum_abs : op == Reduce::l2 || op == Reduce::sum_square ? Fold::sum_square : Fold::sum;
}

double finish_sum(Reduce op, double sum, size_t count) {
  return op == Reduce::mean      ? sum / double(count)
         : op == Reduce::l2      ? std::sqrt(sum)
         : op == Reduce::log_sum ? std::log(sum)
                                 : sum;
}

/// One number from a long run: at most 64 parts, added in their order.
double sum_whole(Fold fold, const double* x, size_t n, const Parallel& par) {
  constexpr size_t kParts = 64;
  const auto run = RETORT_SELECT(double_run);
  const size_t part = std::max(kChunk, (n + kParts - 1) / kParts);
  std::array<double, kParts> partial{};
  for_chunks(
      par, n, [&](size_t begin, size_t end) { partial[begin / part] = run(fold, x + begin, end - begin); }, part);
  double total = 0;
  for (const double p : partial) total += p;
  return total;
}

void sum_double_columns(Reduce op, const double* x, double* y, const ReducePlan& plan, const Parallel& par) {
  const auto sum = RETORT_SELECT(double_tile);
  const Fold fold = double_fold(op);
  const size_t inner = plan.kept.extents[plan.kept.rank - 1], tiles = (inner + kFoldColumns - 1) / kFoldColumns;
  const auto task = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t at = t % tiles * kFoldColumns, i = t / tiles * inner + at;
      const size_t width = std::min(kFoldColumns, inner - at);
      sum(fold, {x, &plan, plan.offset(i), width, y + i});
      for (size_t c = 0; c < width; ++c) y[i + c] = finish_sum(op, y[i + c], plan.count);
    }
  };
  const size_t work = std::max<size_t>(1, plan.count) * std::min(inner, kFoldColumns);
  for_chunks(par, plan.outputs / inner * tiles, task, std::max<size_t>(1, kChunk / work));
}

}  // namespace

bool reduces_double(Reduce op) {
  return op != Reduce::prod && op != Reduce::max && op != Reduce::min && op != Reduce::log_sum_exp;
}

template <>
void reduce<double>(Reduce op, const double* x, double* y, const ReducePlan& plan, const Parallel& par) noexcept {
  if (plan.outputs == 0) return;
  const Fold fold = double_fold(op);
  if (!plan.rows) return sum_double_columns(op, x, y, plan, par);
  if (plan.outputs == 1 && plan.reduced.rank == 1) {
    y[0] = finish_sum(op, sum_whole(fold, x, plan.count, par), plan.count);
    return;
  }
  const auto run = RETORT_SELECT(double_run);
  const size_t n = inner_run(plan).extent;
  const auto task = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      double total = 0;
      for_reduced(plan, plan.offset(i), [&](size_t at) { total += run(fold, x + at, n); });
      y[i] = finish_sum(op, total, plan.count);
    }
  };
  for_chunks(par, plan.outputs, task, std::max<size_t>(1, kChunk / std::max<size_t>(1, plan.count)));
}

}  // namespace retort::kernels
#endif
