// Scaled dot-product attention: where everything lies, and the plain meaning.
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "ops/op.h"

namespace retort::ops {

/// Element (b, h, s, i) of a tensor lies at b·batch + h·head + s·row + i.
struct HeadStrides {
  size_t batch = 0, head = 0, row = 0;
  size_t at(size_t b, size_t h, size_t s) const { return b * batch + h * head + s * row; }
};
/// [B, S, H·D] and [B, H, S, D].
inline HeadStrides packed_heads(size_t rows, size_t heads, size_t size) {
  return {rows * heads * size, size, heads * size};
}
inline HeadStrides split_heads(size_t rows, size_t heads, size_t size) {
  return {heads * rows * size, rows * size, size};
}

struct AttentionShape {
  size_t batch = 0, q_heads = 0, kv_heads = 0;
  size_t q_len = 0, new_len = 0, past_len = 0;  ///< rows of Q, of K and V, and of the past ones
  size_t head_size = 0, v_head_size = 0;
  HeadStrides q, k, v, y;  ///< of the tensors as given
  size_t total() const { return past_len + new_len; }
  HeadStrides past_k() const { return split_heads(past_len, kv_heads, head_size); }
  HeadStrides past_v() const { return split_heads(past_len, kv_heads, v_head_size); }
  HeadStrides present_k() const { return split_heads(total(), kv_heads, head_size); }
  HeadStrides present_v() const { return split_heads(total(), kv_heads, v_head_size); }
  size_t kv_head(size_t h) const { return h / (q_heads / kv_heads); }
};

/// What is added to the scores, and which keys a query sees at all.
struct AttentionMask {
  std::vector<double> bias;  ///< content of attn_mask, -inf where a boolean mask is false; empty: none
  Shape shape;               ///< its shape; broadcasts to [B, H, q_len, columns]
  bool causal = false;
  int64_t left = -1, right = -1;  ///< window, -1: unbounded
  std::vector<int64_t> valid;     ///< keys of each batch that are no padding; empty: all
  /// Bias of key j for query i; -inf: not seen. `past`: keys before the first query.
  double at(const AttentionShape& s, size_t b, size_t h, size_t i, size_t j) const;
};

}  // namespace retort::ops
