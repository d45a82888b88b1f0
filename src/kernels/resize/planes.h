// Resampling of channels-first images in single precision: planes one after the other, all with the same tables. Rows
// are blended to a line first, then the columns of that line:
//
//   out[p, y, x] = sum over j of columns.weight[j, x] · sum over i of rows.weight[y, i] · in[p, rows.index[y, i],
//   columns.index[j, x]]
//
// Sums have one fixed order, so results have the same bits for any number of threads. Thread-safe, no allocation; the
// caller must have checked the tables.
#pragma once
#include "kernels/resize/resize.h"

namespace retort::kernels {

inline constexpr size_t kPlaneColumns = 16;  ///< tables of columns are padded to a multiple of this

/// The columns of the output: [taps, stride] input columns and their weights.
struct PlaneColumns {
  size_t size = 1, taps = 1, stride = kPlaneColumns;  ///< stride is size, padded
  const int32_t* index = nullptr;                     ///< inside the input, or -1: no tap; the padding is -1 too
  const float* weight = nullptr;                      ///< null: one tap of weight 1, so values are copied
  size_t first = 0, last = 0;                         ///< input columns [first, last) include all that are used
  /// Whether no index is -1 or below that of the previous tap or column, including the padding.
  bool ascending = false;
};

struct PlaneResize {
  size_t planes = 0, in_w = 0;
  size_t in_stride = 0, out_stride = 0;  ///< floats from one plane to the next
  ResizeAxis rows;  ///< index -1: neither this tap nor any later one exists; has weights if and only if columns have
  PlaneColumns columns;
  const float* input = nullptr;
  float* output = nullptr;  ///< [planes, rows.size, columns.size]; may not overlap the input
};

/// Number of floats of the line that a caller of resize_plane_rows provides, for columns of [first, last).
size_t plane_line_floats(size_t first, size_t last);

/// Computes output rows [row0, row1) of all planes; serial.
void resize_plane_rows(const PlaneResize& args, size_t row0, size_t row1, float* line) noexcept;

/// Computes all rows. `lines` has par.workers() lines.
void resize_planes(const PlaneResize& args, float* lines, const Parallel& par) noexcept;

/// The reference of both: a plain loop.
void resize_planes_reference(const PlaneResize& args) noexcept;

}  // namespace retort::kernels
