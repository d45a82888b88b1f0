// Attention: softmax(scale * Q * K^T + what is added) * V for heads that lie anywhere. All operators that have an
// attention inside describe it by an AttentionCall.
#pragma once
#include <limits>
#include <optional>
#include <string>

#include "cuda/core/operators.h"

namespace providers::cuda {

/// Element (b, h, s, i) of a tensor of heads lies at b * batch + h * head + s * row + i.
struct HeadStrides {
  int64_t batch = 0, head = 0, row = 0;
};
/// Of [B, S, H * D].
inline HeadStrides packed_heads(int64_t rows, int64_t heads, int64_t size) {
  return {rows * heads * size, size, heads * size};
}
/// Of [B, H, S, D].
inline HeadStrides split_heads(int64_t rows, int64_t heads, int64_t size) {
  return {heads * rows * size, rows * size, size};
}

/// Heads in memory: `data.offset` is where head 0 of row 0 begins.
struct Heads {
  Operand data;
  HeadStrides strides;
};

/// A tensor that broadcasts to the scores [B, H, rows, keys]: its stride of a broadcast axis is 0.
struct ScoreOperand {
  Operand data;
  int64_t strides[4] = {};
};
/// `columns`: the keys that the tensor covers, fewer than `keys` if its last axis is shorter. Throws Error by e.fail if
/// the operand does not broadcast to `scores`.
ScoreOperand score_operand(const Emitter& e, const Operand& operand, const std::array<int64_t, 4>& scores,
                           int64_t* columns = nullptr);

/// Extents: entries of the batch, heads of Q and of K and V, queries, keys, elements of a key and of a value.
struct AttentionSizes {
  int64_t batch = 0, heads = 0, kv_heads = 0, rows = 0, keys = 0, size = 0, v_size = 0;
};

/// Which keys a query sees, and what is added to its scores.
struct AttentionMask {
  bool causal = false;
  int64_t left = -1, right = -1;                             ///< window around a query's own position; -1: no limit
  int64_t before = 0;                                        ///< number of keys before the first query
  std::optional<ScoreOperand> bias;                          ///< added; any of the three types
  std::optional<ScoreOperand> flags;                         ///< bool
  bool flag_hides = false;                                   ///< true flags hide a key; otherwise false ones do
  double hidden = -std::numeric_limits<double>::infinity();  ///< the score of a key that flags hide
  double blind = 0;                ///< the result of a query that sees no key: 0, or NaN as of a plain Softmax
  std::optional<Operand> lengths;  ///< [B] int32 or int64 on the device: number of keys of each entry, minus...
  int64_t length_plus = 0;         ///< ...this
  bool from_end = false;           ///< the queries are the last of `lengths`; otherwise `before` says where
};

/// What the session allows.
struct AttentionSettings {
  bool tf32 = false;          ///< products of float32 may round to tf32
  bool repeats_runs = false;  ///< runs have the same shapes, and are captured
  /// By cuDNN wherever it can, or never; otherwise where it is faster.
  bool always_by_library = false, never_by_library = false;
  AttentionSettings() = default;
  explicit AttentionSettings(const Builder& builder);
};

/// One attention.
struct AttentionCall : AttentionSizes, AttentionMask {
  Heads q, k, v, y;               ///< of one type: float32, float16 or bfloat16
  double scale = 1, softcap = 0;  ///< softcap: 0 for none
  std::optional<Operand> sinks;   ///< [H], of the type of Q: scores of keys without a value
  AttentionSettings settings;
};
/// The largest `size` and `v_size`.
constexpr int64_t kMostHeadSize = 512;

/// Adds the steps. Nothing is added if the result is empty.
void attention(Emitter& e, const AttentionCall& call);
/// Adds the steps by cuDNN (attention_dnn.cc). False, and nothing is added, where its way is not the faster one, or
/// where cuDNN is missing or does not support it.
bool attention_by_library(Emitter& e, const AttentionCall& call);

/// Whether all rows can be read 16 bytes at a time.
bool is_aligned(const Heads& heads, int64_t size);

/// Throws Error by e.fail unless input i has these dims.
void expect_dims(const Emitter& e, size_t i, const Dims& dims);
/// Whether the value is float32, float16 or bfloat16.
bool is_attention_type(const Value* value);
/// The value of an attribute or dimension that kernels take as int; throws Error by e.fail.
int checked_int(const Emitter& e, int64_t v, const char* what);

// Each file of the family adds its operators.
void add_onnx_attention(Kinds& kinds);  // attention_onnx.cc: ai.onnx Attention
void add_multi_head(Kinds& kinds);      // attention_heads.cc: MultiHeadAttention

void add_packed_attention(Kinds& kinds);  // attention_packed.cc: com.microsoft Attention
void add_group_query(Kinds& kinds);       // attention_grouped.cc: GroupQueryAttention
void add_rotary(Kinds& kinds);            // attention_rotary.cc: RotaryEmbedding of both domains

}  // namespace providers::cuda
