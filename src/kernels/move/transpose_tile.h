// Two-dimensional transposes, the inner part of strided_copy.
#pragma once
#include <cstddef>

namespace retort::kernels {

/// to[j · to_row + l] = from[l · from_row + j] for j < rows, l < columns (of the destination).
struct TransposeTile {
  void* to;
  ptrdiff_t to_row;
  const void* from;
  ptrdiff_t from_row;
  size_t rows, columns;
};
using TransposeFn = void (*)(const TransposeTile& tile);

/// For elements of 1, 2, 4, 8 or 16 bytes; those of up to 8 bytes use vectors of the current level.
TransposeFn transpose_fn(size_t element_size) noexcept;

}  // namespace retort::kernels
