// LayerNorm and RMSNorm over the rows of a matrix, optionally of a sum with a residual.
#pragma once
#include <cstddef>

#include "base/parallel.h"

namespace retort::kernels {

/// s = x + skip + bias; y = (s - mean) / sqrt(variance + epsilon) · gamma + beta, or without the mean (simplified). All
/// matrices are [rows, width], row-major; vectors are [width]. Pointers that may be null are marked.
struct RowNorm {
  size_t rows = 0, width = 0;
  const float* x = nullptr;
  const float* skip = nullptr;   ///< [skip_rows, width], or null
  size_t skip_rows = 0;          ///< row r is added to rows r, r + skip_rows, …
  const float* bias = nullptr;   ///< may be null
  const float* gamma = nullptr;  ///< null means 1
  const float* beta = nullptr;   ///< null means 0
  float epsilon = 1e-5f;
  bool simplified = false;   ///< RMSNorm: y = s / sqrt(mean(s²) + epsilon) · gamma + beta
  float* y = nullptr;        ///< may be x
  float* sum = nullptr;      ///< receives s; may be null
  float* mean = nullptr;     ///< [rows], or null
  float* inv_std = nullptr;  ///< [rows], receives 1 / sqrt(variance + epsilon); or null
};

/// Thread-safe, no allocation. Mean and variance take two passes; each row is summed in one fixed order.
void row_norm(const RowNorm& args, const Parallel& par) noexcept;
/// The reference of row_norm, in double.
void row_norm_reference(const RowNorm& args) noexcept;

}  // namespace retort::kernels
