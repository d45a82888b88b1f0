// Resampling of channels-first images in single precision: planes one after the other, all by the same tables. Rows are
// blended to a line first, then the columns of that line:
//
//   out[p, y, x] = sum over j of columns.weight[j, x] · sum over i of rows.weight[y, i] · in[p, rows.index[y, i],
//   columns.index[j, x]]
//
// Sums have one order: same bits for any number of threads. Thread-safe, no allocation; tables are trusted.
#pragma once
#include "kernels/resize/resize.h"

namespace retort::kernels {

inline constexpr size_t kPlaneColumns = 16;  ///< tables of columns are padded to multiples of so many

/// The columns of the output: [taps, stride] input columns and their weights.
struct PlaneColumns {
  size_t size = 1, taps = 1, stride = kPlaneColumns;  ///< stride: size, padded
  const int32_t* index = nullptr;                     ///< inside the input, or -1: no tap; so is the padding
  const float* weight = nullptr;                      ///< null: one tap of weight 1, values are copied
  size_t first = 0, last = 0;                         ///< input columns [first, last) have all of them
  bool ascending = false;  ///< neither -1 nor an index below that of the tap or column before, even in the padding
};

struct PlaneResize {
  size_t planes = 0, in_w = 0;
  size_t in_stride = 0, out_stride = 0;  ///< floats from one plane to the next
  ResizeAxis rows;                       ///< index -1: no tap, nor any behind it; weights as columns has them
  PlaneColumns columns;
  const float* input = nullptr;
  float* output = nullptr;  ///< [planes, rows.size, columns.size]; may not overlap the input
};

/// Floats of the line that a caller of resize_plane_rows brings, for columns of [first, last).
size_t plane_line_floats(size_t first, size_t last);

/// Output rows [row0, row1) of all planes, serial.
void resize_plane_rows(const PlaneResize& args, size_t row0, size_t row1, float* line) noexcept;

/// All rows. `lines`: par.workers() lines.
void resize_planes(const PlaneResize& args, float* lines, const Parallel& par) noexcept;

/// The plain loop: the meaning of both.
void resize_planes_reference(const PlaneResize& args) noexcept;

}  // namespace retort::kernels
