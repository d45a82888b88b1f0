// Sums and extremes of doubles. Plain loops over several chains: a core that adds two numbers at a time is still faster
// than its memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/reduce/fold.h"
#include "kernels/reduce/walk.h"

namespace retort::kernels {
namespace {

/// Number of columns folded together; their results stay in the first-level cache.
constexpr size_t kTile = 512;

/// f(result, element) for a fold that is a sum or a product.
template <typename F>
auto with_sum(Fold fold, const F& f) {
  switch (fold) {
    case Fold::sum_abs:
      return f([](double a, double v) { return a + std::abs(v); });
    case Fold::sum_square:
      return f([](double a, double v) { return a + v * v; });
    case Fold::product:
      return f([](double a, double v) { return a * v; });
    default:
      return f([](double a, double v) { return a + v; });
  }
}
/// For any fold; max and min keep NaN.
template <typename F>
auto with_step(Fold fold, const F& f) {
  switch (fold) {
    case Fold::max:
      return f([](double a, double v) { return ((v > a) | (v != v)) ? v : a; });
    case Fold::min:
      return f([](double a, double v) { return ((v < a) | (v != v)) ? v : a; });
    default:
      return with_sum(fold, f);
  }
}

/// The extreme of n contiguous doubles; `further(a, v)` is a if one is NaN, which takes one instruction, and a mask
/// remembers whether there was a NaN.
template <typename Further>
double extreme(const double* x, size_t n, double start, const Further& further) {
  constexpr size_t kPairs = 4;
  using Pair = double __attribute__((vector_size(16)));
  using Mask = int64_t __attribute__((vector_size(16)));
  Pair parts[kPairs];
  std::fill_n(parts, kPairs, Pair{start, start});
  Mask ordered = {-1, -1};
  size_t i = 0;
  for (; i + 2 * kPairs <= n; i += 2 * kPairs) {
#pragma GCC unroll 4
    for (size_t c = 0; c < kPairs; ++c) {
      Pair v;
      std::memcpy(&v, x + i + 2 * c, sizeof(v));
      parts[c] = further(parts[c], v);
      ordered &= v == v;
    }
  }
  for (size_t c = 1; c < kPairs; ++c) parts[0] = further(parts[0], parts[c]);
  double best = further(parts[0][0], parts[0][1]);
  bool numbers = (ordered[0] & ordered[1]) != 0;
  for (; i < n; ++i) {
    best = further(best, x[i]);
    numbers &= x[i] == x[i];
  }
  return numbers ? best : std::numeric_limits<double>::quiet_NaN();
}

/// Folds n contiguous doubles, in eight chains.
double fold_doubles(Fold fold, const double* x, size_t n) {
  constexpr size_t kChains = 8;
  const double start = fold_start(fold);
  if (fold == Fold::max) return extreme(x, n, start, [](auto a, auto v) { return v > a ? v : a; });
  if (fold == Fold::min) return extreme(x, n, start, [](auto a, auto v) { return v < a ? v : a; });
  double parts[kChains];
  std::fill_n(parts, kChains, start);
  with_sum(fold, [&](const auto& step) {
    size_t i = 0;
    for (; i + kChains <= n; i += kChains) {
#pragma GCC unroll 8
      for (size_t c = 0; c < kChains; ++c) parts[c] = step(parts[c], x[i + c]);
    }
    for (; i < n; ++i) parts[i % kChains] = step(parts[i % kChains], x[i]);
  });
  double total = parts[0];
  for (size_t c = 1; c < kChains; ++c) total = fold_merge(fold, total, parts[c]);
  return total;
}

/// Folds x[i] into y[i] for n columns.
void fold_row(Fold fold, const double* x, size_t n, double* y) {
  with_step(fold, [&](const auto& step) {
    for (size_t i = 0; i < n; ++i) y[i] = step(y[i], x[i]);
  });
}

double finish_fold(Reduce op, double sum, size_t count) {
  return op == Reduce::mean      ? sum / double(count)
         : op == Reduce::l2      ? std::sqrt(sum)
         : op == Reduce::log_sum ? std::log(sum)
                                 : sum;
}

/// Folds a long run to one number: at most 64 parts, added in order.
double fold_whole(Fold fold, const double* x, size_t n, const Parallel& par) {
  constexpr size_t kParts = 64;
  const size_t part = std::max(kChunk, ceil_div(n, kParts));
  std::array<double, kParts> partial;
  partial.fill(fold_start(fold));
  for_chunks(
      par, n, [&](size_t begin, size_t end) { partial[begin / part] = fold_doubles(fold, x + begin, end - begin); },
      part);
  double total = fold_start(fold);
  for (const double p : partial) total = fold_merge(fold, total, p);
  return total;
}

void fold_double_columns(Reduce op, const double* x, double* y, const ReducePlan& plan, const Parallel& par) {
  const Fold fold = fold_of(op);
  const InnerRun run = inner_run(plan);
  const size_t inner = plan.kept.extents[plan.kept.rank - 1], tiles = ceil_div(inner, kTile);
  const auto task = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t at = t % tiles * kTile, i = t / tiles * inner + at, width = std::min(kTile, inner - at);
      std::fill_n(y + i, width, fold_start(fold));
      for_reduced(plan, plan.offset(i), [&](size_t first) {
        for (size_t k = 0; k < run.extent; ++k) fold_row(fold, x + first + k * run.stride, width, y + i);
      });
      for (size_t c = 0; c < width; ++c) y[i + c] = finish_fold(op, y[i + c], plan.count);
    }
  };
  const size_t work = std::max<size_t>(1, plan.count) * std::min(inner, kTile);
  for_chunks(par, plan.outputs / inner * tiles, task, std::max<size_t>(1, kChunk / work));
}

/// From the maxima in y.
void log_sum_exp(const double* x, double* y, const ReducePlan& plan, const Parallel& par) {
  const InnerRun run = inner_run(plan);
  const auto task = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const double shift = std::isfinite(y[i]) ? y[i] : 0;  // others appear in the sum
      double sum = 0;
      for_reduced(plan, plan.offset(i), [&](size_t at) {
        for (size_t k = 0; k < run.extent; ++k) sum += std::exp(x[at + k * run.stride] - shift);
      });
      y[i] = std::log(sum) + shift;
    }
  };
  for_chunks(par, plan.outputs, task, std::max<size_t>(1, kChunk / std::max<size_t>(1, plan.count)));
}

}  // namespace

template <>
void reduce<double>(Reduce op, const double* x, double* y, const ReducePlan& plan, const Parallel& par) noexcept {
  if (plan.outputs == 0) return;
  if (op == Reduce::log_sum_exp) {
    reduce(Reduce::max, x, y, plan, par);
    return log_sum_exp(x, y, plan, par);
  }
  const Fold fold = fold_of(op);
  if (!plan.rows) return fold_double_columns(op, x, y, plan, par);
  if (plan.outputs == 1 && plan.reduced.rank == 1) {
    y[0] = finish_fold(op, fold_whole(fold, x, plan.count, par), plan.count);
    return;
  }
  const size_t n = inner_run(plan).extent;
  const auto task = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      double total = fold_start(fold);
      for_reduced(plan, plan.offset(i),
                  [&](size_t at) { total = fold_merge(fold, total, fold_doubles(fold, x + at, n)); });
      y[i] = finish_fold(op, total, plan.count);
    }
  };
  for_chunks(par, plan.outputs, task, std::max<size_t>(1, kChunk / std::max<size_t>(1, plan.count)));
}

}  // namespace retort::kernels
