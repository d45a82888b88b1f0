// Products of a few rows with many items, both long vectors in memory: the attention of a single query, for which
// packing the keys would cost more than multiplying them. Serial; no allocation. Sums have one fixed order.
#pragma once
#include <cstddef>

namespace retort::kernels {

/// rows × items; strides in floats. Row r begins at r · row_stride, item j at j · item_stride; their score is at r ·
/// score_stride + j.
struct RowItems {
  size_t rows = 0, count = 0, size = 0;
  size_t row_stride = 0, item_stride = 0, score_stride = 0;
  bool adds = false;  ///< weighted_rows() adds to y, with the bits that one call for all items gives
};
/// Items that dot_rows() takes together: a call for some of the items gives the same scores as one for all if it begins
/// at a multiple of this number.
inline constexpr size_t kDotItems = 4;

/// scores[r, j] = Σ_i x[r, i] · items[j, i].
void dot_rows(const RowItems& shape, const float* x, const float* items, float* scores) noexcept;
/// y[r, i] = Σ_j scores[r, j] · items[j, i].
void weighted_rows(const RowItems& shape, const float* scores, const float* items, float* y) noexcept;

}  // namespace retort::kernels
