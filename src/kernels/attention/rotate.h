// The rotation of rotary embeddings (arXiv 2104.09864).
#pragma once
#include <cstddef>

namespace retort::kernels {

/// The angles of one position. `cos` and `sin` have `half` elements, a head has `size` >= 2 · half.
struct RotateArgs {
  const float *cos = nullptr, *sin = nullptr;
  size_t half = 0, size = 0;
  bool interleaved = false;  ///< pairs are (2i, 2i + 1), otherwise (i, i + half)
};
/// Rotates the pairs of one head; elements from 2 · half on are unchanged. y may be x. Serial. The result has the bits of
/// separate products and sums at every instruction level.
void rotate(const RotateArgs& args, const float* x, float* y) noexcept;

}  // namespace retort::kernels
