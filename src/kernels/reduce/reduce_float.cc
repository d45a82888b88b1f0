#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/reduce/fold.h"
#include "kernels/reduce/walk.h"

namespace retort::kernels {
namespace {

struct Reduction {
  Reduce op;
  const float* x;
  float* y;
  const ReducePlan& plan;
};

/// The last step after folding `count` elements for each of n outputs.
void finish(Reduce op, float* y, size_t n, size_t count, const float* shift) {
  const auto each = [&](const auto& f) {
    for (size_t i = 0; i < n; ++i) y[i] = f(y[i], i);
  };
  const float divisor = float(count);
  switch (op) {
    case Reduce::mean:
      return each([&](float v, size_t) { return v / divisor; });
    case Reduce::l2:
      return each([](float v, size_t) { return std::sqrt(v); });
    case Reduce::log_sum:
      return each([](float v, size_t) { return std::log(v); });
    case Reduce::log_sum_exp:
      return each([&](float v, size_t c) { return std::log(v) + shift[c]; });
    default:
      return;
  }
}

/// The number that log_sum_exp subtracts: 0 for an infinite or NaN maximum, which then appears in the sum.
float shift_for(float max) { return std::isfinite(max) ? max : 0; }

/// Calls fold(kind, shift), which folds all elements of one output.
template <typename F>
float reduce_one(Reduce op, size_t count, const F& fold) {
  const float shift = op == Reduce::log_sum_exp ? shift_for(float(fold(Fold::max, 0.0f))) : 0;
  float y = float(fold(fold_of(op), shift));
  finish(op, &y, 1, count, &shift);
  return y;
}

void reduce_rows(const Reduction& r, const Parallel& par) {
  const FoldRun run = fold_run();
  const size_t n = inner_run(r.plan).extent;
  const auto task = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = r.plan.offset(i);
      r.y[i] = reduce_one(r.op, r.plan.count, [&](Fold fold, float shift) {
        double total = fold_start(fold);
        for_reduced(r.plan, first, [&](size_t at) { total = fold_merge(fold, total, run(fold, r.x + at, n, shift)); });
        return total;
      });
    }
  };
  for_chunks(par, r.plan.outputs, task, std::max<size_t>(1, kChunk / std::max<size_t>(1, r.plan.count)));
}

/// Folds a long contiguous run to one number: at most 64 parts, merged in order.
void reduce_whole(const Reduction& r, const Parallel& par) {
  constexpr size_t kParts = 64;
  const FoldRun run = fold_run();
  const size_t n = r.plan.count;
  const size_t part = std::max(kChunk, ceil_div(n, kParts));
  r.y[0] = reduce_one(r.op, n, [&](Fold fold, float shift) {
    std::array<double, kParts> partial;
    partial.fill(fold_start(fold));
    const auto task = [&](size_t begin, size_t end) {
      partial[begin / part] = run(fold, r.x + begin, end - begin, shift);
    };
    for_chunks(par, n, task, part);
    double total = fold_start(fold);
    for (const double p : partial) total = fold_merge(fold, total, p);
    return total;
  });
}

/// Folds `columns` in segments of 4096 rows, which are merged in double.
void fold_columns(Fold fold, FoldTile tile, const FoldColumns& columns) {
  constexpr size_t kSegment = 4096;
  const auto [all, stride] = inner_run(*columns.plan);
  if (all <= kSegment) return tile(fold, columns);
  ReducePlan plan = *columns.plan;
  float y[kFoldColumns];
  double totals[kFoldColumns];
  std::fill_n(totals, columns.width, fold_start(fold));
  FoldColumns part{columns.x, &plan, columns.first, columns.width, columns.shift, y};
  for (size_t row = 0; row < all; row += kSegment, part.first += kSegment * stride) {
    plan.reduced.extents[plan.reduced.rank - 1] = std::min(kSegment, all - row);
    tile(fold, part);
    for (size_t c = 0; c < columns.width; ++c) totals[c] = fold_merge(fold, totals[c], double(y[c]));
  }
  std::copy_n(totals, columns.width, columns.y);
}

/// Computes outputs [i, i + width) within one innermost kept run.
void reduce_tile(const Reduction& r, FoldTile tile, size_t i, size_t width) {
  float shift[kFoldColumns] = {};
  const FoldColumns columns{r.x, &r.plan, r.plan.offset(i), width, shift, r.y + i};
  if (r.op == Reduce::log_sum_exp) {
    fold_columns(Fold::max, tile, columns);
    for (size_t c = 0; c < width; ++c) shift[c] = shift_for(r.y[i + c]);
  }
  fold_columns(fold_of(r.op), tile, columns);
  finish(r.op, r.y + i, width, r.plan.count, shift);
}

void reduce_columns(const Reduction& r, const Parallel& par) {
  const FoldTile tile = fold_tile();
  const size_t inner = r.plan.kept.extents[r.plan.kept.rank - 1];
  const size_t tiles = ceil_div(inner, kFoldColumns);
  const auto task = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t at = t % tiles * kFoldColumns;
      reduce_tile(r, tile, t / tiles * inner + at, std::min(kFoldColumns, inner - at));
    }
  };
  const size_t work = std::max<size_t>(1, r.plan.count) * std::min(inner, kFoldColumns);
  for_chunks(par, r.plan.outputs / inner * tiles, task, std::max<size_t>(1, kChunk / work));
}

}  // namespace

void reduce(Reduce op, const float* x, float* y, const ReducePlan& plan, const Parallel& par) noexcept {
  if (plan.outputs == 0) return;
  const Reduction r{op, x, y, plan};
  if (!plan.rows) return reduce_columns(r, par);
  if (plan.outputs == 1 && plan.reduced.rank == 1) return reduce_whole(r, par);
  reduce_rows(r, par);
}

}  // namespace retort::kernels
