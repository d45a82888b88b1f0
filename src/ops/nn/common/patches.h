// Convolution of single-precision channels-first images as products with patches, which an operator gathers block by
// block.
#pragma once
#include "base/function_ref.h"
#include "base/parallel.h"
#include "kernels/gemm/gemm.h"

namespace retort::ops {

/// The division of an image's output pixels into blocks of whole packed panels.
struct PatchBlocks {
  /// `k` is the number of elements of a patch.
  PatchBlocks(int64_t out_pixels, int64_t k);
  int64_t pixels, count, k;
  size_t bytes;  ///< bytes of one packed block
};

/// output[n, g, o, p] = bias[g, o] + Σ_i weights[g, o, i] · patch(n, g)[i, p].
struct PatchProduct {
  int64_t batch, group, group_out, out_pixels;
  const float *weights, *bias;  ///< bias may be null
  float* output;
  /// Memory of each worker: a packed block, then what the operator needs.
  void* scratch;
  size_t scratch_stride;
};

/// Patches of output pixels [first, first + n) of one image and group; n is at most a block.
struct PatchTask {
  int64_t image, group, first, n;
  float* packed;  ///< to be filled as [panel of gemm_panel_width() pixels][k][pixel]
};
/// A task is one block of one group of one image. `gather` must not throw.
void multiply_patches(const PatchProduct& product, const PatchBlocks& blocks, const Parallel& parallel,
                      FunctionRef<void(const PatchTask&)> gather);

}  // namespace retort::ops
