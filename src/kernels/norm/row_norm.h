// LayerNorm and RMSNorm over the rows of a matrix, with an optional residual sum in front.
#pragma once
#include <cstddef>

#include "base/parallel.h"

namespace retort::kernels {

/// s = x + skip + bias; y = (s - mean) / sqrt(variance + epsilon) · gamma + beta, or without the mean (simplified).
/// All matrices are [rows, width], row-major; vectors are [width]. Pointers that may be null are so marked.
struct RowNorm {
  size_t rows = 0, width = 0;
  const float* x = nullptr;
  const float* skip = nullptr;   ///< or null; [skip_rows, width]
  size_t skip_rows = 0;          ///< row r is added to rows r, r + skip_rows, …
  const float* bias = nullptr;   ///< or null
  const float* gamma = nullptr;  ///< or null: 1
  const float* beta = nullptr;   ///< or null: 0
  float epsilon = 1e-5f;
  bool simplified = false;   ///< RMSNorm: y = s / sqrt(mean(s²) + epsilon) · gamma + beta
  float* y = nullptr;        ///< may be x
  float* sum = nullptr;      ///< or null; receives s
  float* mean = nullptr;     ///< or null; [rows]
  float* inv_std = nullptr;  ///< or null; [rows], 1 / sqrt(variance + epsilon)
};

/// Thread-safe, no allocation. Mean and variance in two passes, each row in one fixed order.
void row_norm(const RowNorm& args, const Parallel& par) noexcept;
/// The meaning of row_norm, in double.
void row_norm_reference(const RowNorm& args) noexcept;

}  // namespace retort::kernels
