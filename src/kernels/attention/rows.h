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
};

/// scores[r, j] = Σ_i x[r, i] · items[j, i].
void dot_rows(const RowItems& shape, const float* x, const float* items, float* scores) noexcept;
/// y[r, i] = Σ_j scores[r, j] · items[j, i].
void weighted_rows(const RowItems& shape, const float* scores, const float* items, float* y) noexcept;

}  // namespace retort::kernels
