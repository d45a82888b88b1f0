// The inner loops of float reductions, compiled per level.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/reduce/reduce.h"

namespace retort::kernels {

/// The quantity that is accumulated. sum_exp is Σ e^(x - shift).
enum class Fold : uint8_t { sum, sum_abs, sum_square, sum_exp, product, max, min };

/// The fold of an operator.
inline Fold fold_of(Reduce op) {
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

inline double fold_start(Fold fold) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return fold == Fold::product ? 1 : fold == Fold::max ? -kInf : fold == Fold::min ? kInf : 0;
}
inline double fold_merge(Fold fold, double a, double b) {
  switch (fold) {
    case Fold::product:
      return a * b;
    case Fold::max:
      return a >= b || std::isnan(a) ? a : b;
    case Fold::min:
      return a <= b || std::isnan(a) ? a : b;
    default:
      return a + b;
  }
}

/// Number of columns reduced together: a multiple of every vector length, and whole cache lines.
inline constexpr size_t kFoldColumns = 128;

/// Rows of n contiguous floats, `stride` from one to the next.
struct FoldRows {
  const float* x;
  size_t rows, n, stride;
  const float* shift;  ///< [rows]
  double* y;           ///< [rows]
};
using FoldRowsFn = void (*)(Fold fold, const FoldRows& rows);
FoldRowsFn fold_rows();

struct FoldColumns {
  const float* x;          ///< the whole input
  const ReducePlan* plan;  ///< one with plan->rows false
  size_t first;            ///< offset of the first element of the first column
  size_t width;            ///< number of columns, at most kFoldColumns
  const float* shift;      ///< [kFoldColumns]
  float* y;                ///< [width]
};
using FoldTile = void (*)(Fold fold, const FoldColumns& columns);
FoldTile fold_tile();

}  // namespace retort::kernels
