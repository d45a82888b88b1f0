// Attention of com.microsoft whose queries, keys and values were computed together.
#pragma once
#include <vector>

#include "lift/rewriter.h"

namespace retort {

/// Inputs of a node, or kNone: `mask` is one of padding, in any of the forms that com.microsoft.MultiHeadAttention has;
/// `past` is [2, batch, heads, rows, size].
struct PackedAttention {
  static constexpr size_t kNone = 99;
  std::vector<ValueId> qkv;  ///< queries, keys and values, each [batch, rows, hidden]
  size_t mask = kNone, bias = kNone, past = kNone, past_rows = kNone;
};

/// Replaces the node by com.microsoft.MultiHeadAttention with its attributes num_heads, scale, unidirectional and
/// mask_filter_value, and that by the Attention of ai.onnx where it can. Output 1 is the present, like the past.
void attend_together(Rewriter& r, const PackedAttention& attention);
/// Replaces com.microsoft.MultiHeadAttention by the Attention of ai.onnx if there is no padding and no buffer.
void use_standard_attention(Rewriter& r);

}  // namespace retort
