// Resampling to the nearest element: moves elements of any size, so it serves all types and layouts.
//
//   out[p, y, x] = in[p, rows[y], columns[x]]
//
// Thread-safe, no allocation; the caller must have checked shape and tables.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/parallel.h"

namespace retort::kernels {

struct NearestResize {
  size_t planes = 1, in_h = 1, in_w = 1;
  std::span<const int32_t> rows, columns;  ///< each is inside the input
  size_t bytes = 1;                        ///< of an element, which is aligned to them if they are 1, 2, 4 or 8
  const void* input = nullptr;
  void* output = nullptr;  ///< [planes, rows, columns]; may not overlap the input
};

/// Whether each of the in_w columns is repeated once, as in images of twice the size.
bool doubles(std::span<const int32_t> columns, size_t in_w) noexcept;

void resize_nearest(const NearestResize& args, const Parallel& par) noexcept;

}  // namespace retort::kernels
