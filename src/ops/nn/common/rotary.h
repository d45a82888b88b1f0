// The rotation of RotaryEmbedding (arXiv 2104.09864) for one head at one position.
#pragma once
#include <algorithm>
#include <cstddef>

#include "ops/op.h"

namespace retort::ops {

/// Rotates pairs (i, i + half), or (2i, 2i + 1) if interleaved, by the angle of the position; elements from 2·half on
/// are unchanged. `cos` and `sin` are [positions, half]; a head has `size` >= 2·half elements.
template <typename T>
struct Rotation {
  const T *cos = nullptr, *sin = nullptr;
  size_t positions = 0, half = 0, size = 0;
  bool interleaved = false;

  void apply(size_t position, const T* x, T* y) const {
    const T *c = cos + position * half, *s = sin + position * half;
    const size_t step = interleaved ? 2 : 1, mate = interleaved ? 1 : half;
    for (size_t i = 0; i < half; ++i) {
      const T re = x[i * step], im = x[i * step + mate];
      y[i * step] = c[i] * re - s[i] * im;
      y[i * step + mate] = s[i] * re + c[i] * im;
    }
    std::copy_n(x + 2 * half, size - 2 * half, y + 2 * half);
  }
};

}  // namespace retort::ops
