// The rotation of RotaryEmbedding (arXiv 2104.09864) for one head at one position.
#pragma once
#include <algorithm>
#include <cstddef>

#include "kernels/attention/rotate.h"
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
    if constexpr (std::same_as<T, float>) return kernels::rotate({c, s, half, size, interleaved}, x, y);
    const size_t step = interleaved ? 2 : 1, mate = interleaved ? 1 : half;
    for (size_t i = 0; i < half; ++i) {
      const T re = x[i * step], im = x[i * step + mate];
      y[i * step] = c[i] * re - s[i] * im;
      y[i * step + mate] = s[i] * re + c[i] * im;
    }
    std::copy_n(x + 2 * half, size - 2 * half, y + 2 * half);
  }
};

/// The extents of a tensor of heads, and whether rows of one head follow one another.
struct RotatedHeads {
  size_t batch = 0, rows = 0, heads = 0;
  bool split = false;
};
/// Rotates all heads of [batch, rows, heads, size] or, `split`, of [batch, heads, rows, size], in the order of memory;
/// position(i) is that of row i of batch · rows.
template <typename T, typename Position>
void rotate_heads(const Rotation<T>& r, const RotatedHeads& s, const T* x, T* y, const Position& position,
                  const Parallel& par) {
  const size_t outer = s.split ? s.heads : s.rows, inner = s.split ? s.rows : s.heads;
  par.for_each(s.batch * outer, [&](size_t task, int) {
    const size_t first = task * inner;
    for (size_t i = 0; i < inner; ++i) {
      const size_t row = s.split ? task / s.heads * s.rows + i : task;
      r.apply(position(row), x + (first + i) * r.size, y + (first + i) * r.size);
    }
  });
}

}  // namespace retort::ops
