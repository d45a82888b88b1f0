// Resampling of channels-last (NHWC) images in single precision, with pixel strides as in kernels/conv/conv.h. The
// caller provides a table for each axis, so that nearest, linear, cubic and antialiased resampling in every coordinate
// mode use the same loop:
//
//   out[b, y, x, c] = sum over i of rows.weight[y, i] · sum over j of columns.weight[x, j] · in[b, rows.index[y, i],
//   columns.index[x, j], c]
//
// Sums have one fixed order, so results have the same bits for any number of threads. Thread-safe, no allocation; the
// caller must have checked shape and tables.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace retort::kernels {

/// One axis of the output: [size, taps] input positions and their weights.
struct ResizeAxis {
  size_t size = 1;
  size_t taps = 1;
  const int32_t* index = nullptr;  ///< each is inside the input
  const float* weight = nullptr;   ///< null: one tap of weight 1, so values are copied
};

struct ResizeArgs {
  size_t batch = 1, in_h = 1, in_w = 1, channels = 1;
  size_t in_pixel_stride = 1, out_pixel_stride = 1;  ///< in floats
  ResizeAxis rows, columns;                          ///< both with weights, or both without
  const float* input = nullptr;
  float* output = nullptr;  ///< [batch, rows.size, columns.size, channels]; may not overlap the input
};

void resize_nhwc(const ResizeArgs& args, const Parallel& par) noexcept;

/// The reference of resize_nhwc: a plain loop.
void resize_reference(const ResizeArgs& args) noexcept;

}  // namespace retort::kernels
