// Scaled dot-product attention: the layout of its tensors, the plain reference, and the single-precision form that
// production runs.
#pragma once
#include <algorithm>
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
/// Strides of [B, S, H·D] and [B, H, S, D].
inline HeadStrides packed_heads(size_t rows, size_t heads, size_t size) {
  return {rows * heads * size, size, heads * size};
}
inline HeadStrides split_heads(size_t rows, size_t heads, size_t size) {
  return {heads * rows * size, rows * size, size};
}

/// Rows that each head has room for; 0: no spare rows.
struct CacheRooms {
  size_t past_k = 0, past_v = 0, present_k = 0, present_v = 0;
};

struct AttentionShape {
  size_t batch = 0, q_heads = 0, kv_heads = 0;
  size_t q_len = 0, new_len = 0, past_len = 0;  ///< number of rows of Q, of K and V, and of the past ones
  size_t head_size = 0, v_head_size = 0;
  HeadStrides q, k, v, y;  ///< of the given tensors
  CacheRooms rooms;
  bool rounds = false;  ///< attention_fast() multiplies blocks of queries in bfloat16 arithmetic
  size_t total() const { return past_len + new_len; }
  HeadStrides past_k() const { return cache(rooms.past_k, past_len, head_size); }
  HeadStrides past_v() const { return cache(rooms.past_v, past_len, v_head_size); }
  HeadStrides present_k() const { return cache(rooms.present_k, total(), head_size); }
  HeadStrides present_v() const { return cache(rooms.present_v, total(), v_head_size); }
  HeadStrides cache(size_t room, size_t rows, size_t size) const {
    return split_heads(room ? room : rows, kv_heads, size);
  }
  size_t group() const { return q_heads / kv_heads; }
  size_t kv_head(size_t h) const { return h / group(); }
};

/// The cost of the scores and of the weighted sum of values for all pairs of positions, including masked ones.
/// `queries` and `results` are the numbers of elements of Q and of the output.
inline Cost attention_cost(double queries, double results, double keys) {
  return {.multiply_adds = (queries + results) * keys};
}

/// The rooms of the caches in a context; the arguments say which inputs and outputs they are.
inline CacheRooms cache_rooms(const RunContext& c, size_t past_k, size_t past_v, size_t present_k, size_t present_v) {
  const auto in = [&](size_t i) { return c.has(i) ? c.in_slot(i).room : 0; };
  const auto out = [&](size_t i) { return c.wants(i) ? c.out_slot(i).room : 0; };
  return {in(past_k), in(past_v), out(present_k), out(present_v)};
}

/// A tensor that broadcasts to the scores [B, H, q_len, total]; its last axis may be shorter.
struct ScoreOperand {
  const void* data = nullptr;  ///< null: omitted
  DType dtype = DType::undefined;
  size_t strides[4] = {};
  size_t columns = std::numeric_limits<size_t>::max();  ///< number of keys that it covers
  size_t batches = std::numeric_limits<size_t>::max();  ///< the number of items after which it repeats
  size_t at(size_t b, size_t h, size_t i, size_t j) const {
    return (b < batches ? b : b % batches) * strides[0] + h * strides[1] + i * strides[2] + j * strides[3];
  }
};
/// Returns input i of the context; throws invalid_argument if it does not broadcast to the scores. One that `repeats` may
/// have fewer batch items, of whose number s.batch is a multiple.
ScoreOperand score_operand(const RunContext& c, size_t i, const AttentionShape& s, bool repeats = false);

/// The steps from a score to the input of the softmax: scale, soft cap, `hidden` in place of flagged scores, plus bias;
/// -inf for keys that the query does not see.
struct ScoreRule {
  double scale = 1, softcap = 0;
  ScoreOperand bias;        ///< any float type
  ScoreOperand flags;       ///< bool
  bool flag_hides = false;  ///< whether true flags hide a key; otherwise false flags do
  double hidden = -std::numeric_limits<double>::infinity();
  double blind = 0;  ///< weight of each key if all scores of a query are -inf: 0, or the NaN of a plain Softmax
  bool causal = false;
  int64_t left = -1, right = -1;   ///< window around the query's own position; -1: unbounded
  const int64_t* valid = nullptr;  ///< [B]: number of keys that are not padding; null: all keys
  bool sink = false;               ///< an extra key without a value takes part in the softmax
  const float* sinks = nullptr;    ///< [H]: the scores of the extra keys; null: 0

  /// Keys [first, last) that query i of batch b may see.
  std::pair<size_t, size_t> visible(const AttentionShape& s, size_t b, size_t i) const;
  float sink_score(size_t h) const { return sinks ? sinks[h] : 0.0f; }
  double capped(double scaled) const { return softcap > 0 ? softcap * std::tanh(scaled / softcap) : scaled; }
  /// The score of a key within visible().
  double apply(double capped, size_t b, size_t h, size_t i, size_t j) const;
};

/// The tensors. Present ones may be null if they are not needed; past ones are null if past_len is 0.
template <typename T>
struct AttentionData {
  const T *q = nullptr, *k = nullptr, *v = nullptr, *past_k = nullptr, *past_v = nullptr;
  T *y = nullptr, *present_k = nullptr, *present_v = nullptr;
  T* scores = nullptr;      ///< [B, H, q_len, total] or null
  int64_t scores_mode = 0;  ///< 0: scaled, 1: capped, 2: with bias, 3: after the softmax
};

/// The reference: one query at a time, in double.
template <typename T>
void attention_reference(const AttentionShape& s, const AttentionData<T>& d, const ScoreRule& rule,
                         const Parallel& run = {});

/// The state of an operator whose shapes `rounds`: not null if the session and the processor multiply in bfloat16
/// arithmetic.
std::unique_ptr<State> prepare_attention(const PrepareContext& c);
inline bool rounds_attention(const RunContext& c) { return c.state<State>() != nullptr; }

/// Uses GEMM for blocks of queries, and dot products for a few queries. d.scores must be null. In bfloat16 arithmetic,
/// queries, keys, values and the weights of the softmax, up to a factor of each query, are rounded; all sums and the
/// softmax are in float32.
void attention_fast(const AttentionShape& s, const AttentionData<float>& d, const ScoreRule& rule, void* scratch,
                    const Parallel& parallel);
/// Bytes of scratch for attention_fast; the flags say whether d will have present_k and present_v.
size_t attention_scratch(const AttentionShape& s, bool present_k, bool present_v, int workers);

}  // namespace retort::ops
