// Convolution of single-precision images with channels first as products with patches, which an operator gathers block by
// block.
#pragma once
#include "base/function_ref.h"
#include "base/parallel.h"
#include "kernels/gemm/gemm.h"

namespace retort::ops {

/// How the output pixels of an image are cut: into blocks of whole packed panels.
struct PatchBlocks {
  /// `k`: elements of a patch.
  PatchBlocks(int64_t out_pixels, int64_t k);
  int64_t pixels, count, k;
  size_t bytes;  ///< of one packed block
};

/// output[n, g, o, p] = bias[g, o] + Σ_i weights[g, o, i] · patch(n, g)[i, p].
struct PatchProduct {
  int64_t batch, group, group_out, out_pixels;
  const float *weights, *bias;  ///< bias may be null
  float* output;
  /// Each worker's room: a packed block at its start, then what the operator wants.
  void* scratch;
  size_t scratch_stride;
};

/// Patches of output pixels [first, first + n) of one image and group, n at most a block.
struct PatchTask {
  int64_t image, group, first, n;
  float* packed;  ///< to be filled: [panel of gemm_panel_width() pixels][k][pixel]
};
/// An image, a group and a block are a task. `gather` must not throw.
void multiply_patches(const PatchProduct& product, const PatchBlocks& blocks, const Parallel& parallel,
                      FunctionRef<void(const PatchTask&)> gather);

}  // namespace retort::ops
