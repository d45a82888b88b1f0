// Transposed convolution by one product for all taps (conv_transpose_columns.cc).
#pragma once
#include "kernels/conv/conv_transpose.h"

namespace retort::kernels::conv_detail {

/// Whether this is faster than phases; does not depend on the extents of the image.
bool suits_columns(const ConvTransposeShape& shape);
size_t columns_packed_bytes(const ConvTransposeShape& shape);
void columns_pack(const ConvTransposeShape& shape, const float* weights, float* packed) noexcept;
size_t columns_scratch_bytes(const ConvTransposeShape& shape, int workers);
void conv_transpose_columns(const ConvTransposeArgs& args, void* scratch, const Parallel& par) noexcept;

}  // namespace retort::kernels::conv_detail
