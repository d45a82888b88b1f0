#include <algorithm>
#include <cmath>

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

Fold fold_of(Reduce op) {
  switch (op) {
    case Reduce::prod:
      return Fold::product;
    case Reduce::max:
      return Fold::max;
    case Reduce::min:
      return Fold::min;
    case Reduce::l1:
      return Fold::sum_abs;
    case Reduce::l2:
    case Reduce::sum_square:
      return Fold::sum_square;
    case Reduce::log_sum_exp:
      return Fold::sum_exp;
    default:
      return Fold::sum;
  }
}

/// The last step after folding `count` elements.
double finish(Reduce op, double total, size_t count, double shift) {
  switch (op) {
    case Reduce::mean:
      return total / double(count);
    case Reduce::l2:
      return std::sqrt(total);
    case Reduce::log_sum:
      return std::log(total);
    case Reduce::log_sum_exp:
      return std::log(total) + shift;
    default:
      return total;
  }
}

/// What log_sum_exp subtracts: 0 for an infinite or NaN maximum, which then shows in the sum.
float shift_for(double max) { return std::isfinite(max) ? float(max) : 0; }

/// fold(kind, shift) folds all elements behind one output.
template <typename F>
float reduce_one(Reduce op, size_t count, const F& fold) {
  const float shift = op == Reduce::log_sum_exp ? shift_for(fold(Fold::max, 0.0f)) : 0;
  return float(finish(op, fold(fold_of(op), shift), count, double(shift)));
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

/// One number from a long contiguous run: at most 64 parts, merged in their order.
void reduce_whole(const Reduction& r, const Parallel& par) {
  constexpr size_t kParts = 64;
  const FoldRun run = fold_run();
  const size_t n = r.plan.count;
  const size_t part = std::max(kChunk, (n + kParts - 1) / kParts);
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
void fold_segments(Fold fold, FoldTile tile, FoldColumns columns, double* totals) {
  constexpr size_t kSegment = 4096;
  std::fill_n(totals, columns.width, fold_start(fold));
  ReducePlan part = *columns.plan;
  size_t& rows = part.reduced.extents[part.reduced.rank - 1];
  const auto [all, stride] = inner_run(part);
  columns.plan = &part;
  for (size_t row = 0; row < all; row += kSegment, columns.first += kSegment * stride) {
    float y[kFoldColumns];
    rows = std::min(kSegment, all - row);
    columns.y = y;
    tile(fold, columns);
    for (size_t c = 0; c < columns.width; ++c) totals[c] = fold_merge(fold, totals[c], double(y[c]));
  }
}

/// Outputs [i, i + width) within one innermost kept run.
void reduce_tile(const Reduction& r, FoldTile tile, size_t i, size_t width) {
  float shift[kFoldColumns] = {};
  double totals[kFoldColumns];
  const FoldColumns columns{r.x, &r.plan, r.plan.offset(i), width, shift, nullptr};
  if (r.op == Reduce::log_sum_exp) {
    fold_segments(Fold::max, tile, columns, totals);
    for (size_t c = 0; c < width; ++c) shift[c] = shift_for(totals[c]);
  }
  fold_segments(fold_of(r.op), tile, columns, totals);
  for (size_t c = 0; c < width; ++c) r.y[i + c] = float(finish(r.op, totals[c], r.plan.count, double(shift[c])));
}

void reduce_columns(const Reduction& r, const Parallel& par) {
  const FoldTile tile = fold_tile();
  const size_t inner = r.plan.kept.extents[r.plan.kept.rank - 1];
  const size_t tiles = (inner + kFoldColumns - 1) / kFoldColumns;
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
