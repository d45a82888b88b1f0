// Transposed convolution by one product for all taps (conv_transpose_columns.cc).
#pragma once
#include <cstddef>

#include "kernels/conv/conv_transpose.h"

namespace retort::kernels::conv_detail {

/// Whether this is faster than phases; does not depend on the extents of the image.
bool suits_columns(const ConvTransposeShape& shape);
size_t columns_packed_bytes(const ConvTransposeShape& shape);
void columns_pack(const ConvTransposeShape& shape, const float* weights, float* packed) noexcept;
size_t columns_scratch_bytes(const ConvTransposeShape& shape, int workers);
void conv_transpose_columns(const ConvTransposeArgs& args, void* scratch, const Parallel& par) noexcept;

/// Sums of products for a part of an output row. A run is as many pixels as the stride. Input x adds its first products
/// to run x, the next ones (block 1) to run x + 1 and so on, for each row of taps.
struct RunSums {
  const float* products = nullptr;  // of input 0, row 0, block 0
  size_t pixel_step = 0;            // floats from input to input
  ptrdiff_t row_step = 0;
  size_t rows = 0, pixels = 0, blocks = 1;
  size_t run = 0, last_run = 0;  // floats of a run, and how many the last block adds
  size_t runs = 0;               // that are computed
  const float* bias = nullptr;   // one run
  float* to = nullptr;
};
/// As many floats after a run, its products and its bias are accessed.
inline constexpr size_t kRunSlack = 8;

using SumRuns = void (*)(const RunSums&);
SumRuns sum_runs();

}  // namespace retort::kernels::conv_detail
