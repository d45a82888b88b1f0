// The rotary embeddings of com.microsoft: RotaryEmbedding, and MRotaryEmbedding, whose caches are read at three
// positions.
#pragma once
#include "ops/nn/common/rotary.h"
#include "ops/nn/common/rounded.h"

namespace retort::ops {

/// Inputs: x, positions, cos_cache, sin_cache.
struct RotaryOp {
  enum Input : size_t { kX, kPositions, kCos, kSin };
  bool interleaved = false, is_packed_batching = false;
  int64_t num_heads = 0, rotary_embedding_dim = 0;
  float scale = 1;

  void check_rotary() const {
    require(num_heads >= 0 && rotary_embedding_dim >= 0, ErrorCode::invalid_argument,
            "num_heads is {}, rotary_embedding_dim {}", num_heads, rotary_embedding_dim);
    require(rotary_embedding_dim == 0 || num_heads > 0, ErrorCode::invalid_argument,
            "rotary_embedding_dim is {}, which requires num_heads", rotary_embedding_dim);
  }
  void infer_rotary(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape& x = c.shape(kX);
    require(x.rank() == 3 || x.rank() == 4, ErrorCode::invalid_argument, "input has {} axes, expected 3 or 4",
            x.rank());
    c.set(0, c.dtype(kX), x);
    require(c.rank(kCos) == 2, ErrorCode::invalid_argument, "cos_cache has {} axes, expected 2", c.rank(kCos));
    expect_shape(c, kSin, "sin_cache", c.shape(kCos));
  }
  // Two products and their sum for each element.
  Cost cost(const CostContext& c) const { return {.operations = 3 * c.count(kX)}; }

  struct Layout {
    size_t batch, rows, heads, size;
  };
  Layout layout(const RunContext& c) const {
    const Shape &x = c.shape(kX), &cos = c.shape(kCos);
    const bool packed = x.rank() == 3;
    const int64_t half = cos[1], rows = x[packed ? 1 : 2];
    Layout l{.batch = size_t(x[0]), .rows = size_t(rows)};
    if (!packed) {
      l.heads = size_t(x[1]);
      l.size = size_t(x[3]);
    } else {
      require(num_heads > 0 || half > 0, ErrorCode::invalid_argument, "the caches have no elements");
      const int64_t heads = num_heads > 0 ? num_heads : std::max<int64_t>(x[2] / (2 * half), 1);
      require(x[2] % heads == 0, ErrorCode::invalid_argument,
              "rows have {} elements, expected a multiple of the {} heads", x[2], heads);
      l.heads = size_t(heads);
      l.size = size_t(x[2]) / l.heads;
    }
    const auto turned = rotary_embedding_dim ? rotary_embedding_dim : int64_t(l.size);
    require(half == turned / 2 && size_t(turned) <= l.size, ErrorCode::invalid_argument,
            "the caches have shape {}, but heads have {} elements, of which {} are rotated", cos, l.size, turned);
    require(rows <= cos[0], ErrorCode::invalid_argument, "there are {} rows, but the caches have only {} positions",
            rows, cos[0]);
    return l;
  }
  size_t checked_position(const RunContext& c, int64_t p) const {
    require(p >= 0 && p < c.shape(kCos)[0], ErrorCode::invalid_argument, "position {} is outside [0, {})", p,
            c.shape(kCos)[0]);
    return size_t(p);
  }
};

}  // namespace retort::ops
