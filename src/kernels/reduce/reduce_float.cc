#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/move/transpose_tile.h"
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

constexpr size_t kRowBlock = 128;

/// Folds rows of n floats to one number, in order.
double fold_all(Fold fold, const FoldRows& all) {
  float shift[kRowBlock];
  double y[kRowBlock], total = fold_start(fold);
  std::fill_n(shift, std::min(kRowBlock, all.rows), *all.shift);
  for (size_t i = 0, rows; i < all.rows; i += rows) {
    rows = std::min(kRowBlock, all.rows - i);
    fold_rows()(fold, {all.x + i * all.stride, rows, all.n, all.stride, shift, y});
    for (size_t k = 0; k < rows; ++k) total = fold_merge(fold, total, y[k]);
  }
  return total;
}

/// Folds up to kRowBlock rows of n floats that follow each other.
void fold_block(Fold fold, const float* x, size_t rows, size_t n, const float* shift, float* y) {
  constexpr size_t kVector = 16, kFewFloats = 64, kColumns = 64;
  // To join the lanes of a vector takes longer for extremes, which keep NaN.
  const bool extreme = fold == Fold::max || fold == Fold::min;
  if (n >= (extreme ? kFewFloats : kVector)) {
    double wide[kRowBlock];
    fold_rows()(fold, {x, rows, n, n, shift, wide});
    std::transform(wide, wide + rows, y, [](double v) { return float(v); });
    return;
  }
  // Rows that fill few vectors become columns.
  float columns[kFewFloats * kColumns];
  ReducePlan plan;
  plan.reduced.rank = 1;
  plan.reduced.extents[0] = plan.count = n;
  plan.reduced.strides[0] = kColumns;
  for (size_t i = 0; i < rows; i += kColumns) {
    const size_t width = std::min(kColumns, rows - i);
    transpose_fn(sizeof(float))({columns, kColumns, x + i * n, ptrdiff_t(n), n, width});
    fold_tile()(fold, {columns, &plan, 0, width, shift + i, y + i});
  }
}

/// The outputs are those of rows that follow each other.
void reduce_dense_rows(const Reduction& r, const Parallel& par) {
  static_assert(kRowBlock <= kFoldColumns);
  const size_t n = r.plan.count;
  const auto task = [&](size_t begin, size_t end) {
    for (size_t i = begin, rows; i < end; i += rows) {
      rows = std::min(kRowBlock, end - i);
      const float* const x = r.x + i * n;
      float shift[kRowBlock] = {};
      if (r.op == Reduce::log_sum_exp) {
        fold_block(Fold::max, x, rows, n, shift, r.y + i);
        for (size_t k = 0; k < rows; ++k) shift[k] = shift_for(r.y[i + k]);
      }
      fold_block(fold_of(r.op), x, rows, n, shift, r.y + i);
      finish(r.op, r.y + i, rows, n, shift);
    }
  };
  for_chunks(par, r.plan.outputs, task, std::max<size_t>(1, kChunk / n));
}

void reduce_rows(const Reduction& r, const Parallel& par) {
  const size_t n = inner_run(r.plan).extent;
  ReducePlan outer = r.plan;  // without the innermost dimension, unless it is the only one
  if (outer.reduced.rank > 1) --outer.reduced.rank;
  const InnerRun runs = r.plan.reduced.rank > 1 ? inner_run(outer) : InnerRun{1, n};
  const auto task = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = r.plan.offset(i);
      r.y[i] = reduce_one(r.op, r.plan.count, [&](Fold fold, float shift) {
        double total = fold_start(fold);
        for_reduced(outer, first, [&](size_t at) {
          total = fold_merge(fold, total, fold_all(fold, {r.x + at, runs.extent, n, runs.stride, &shift, nullptr}));
        });
        return total;
      });
    }
  };
  for_chunks(par, r.plan.outputs, task, std::max<size_t>(1, kChunk / std::max<size_t>(1, r.plan.count)));
}

/// Folds a long contiguous run to one number: at most 64 parts, merged in order.
void reduce_whole(const Reduction& r, const Parallel& par) {
  constexpr size_t kParts = 64;
  const size_t n = r.plan.count;
  const size_t part = std::max(kChunk, ceil_div(n, kParts));
  r.y[0] = reduce_one(r.op, n, [&](Fold fold, float shift) {
    std::array<double, kParts> partial;
    partial.fill(fold_start(fold));
    const auto task = [&](size_t begin, size_t end) {
      partial[begin / part] = fold_all(fold, {r.x + begin, 1, end - begin, 0, &shift, nullptr});
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
  if (plan.reduced.rank == 1 && plan.kept.rank == 1 && plan.count > 0) return reduce_dense_rows(r, par);
  reduce_rows(r, par);
}

}  // namespace retort::kernels
