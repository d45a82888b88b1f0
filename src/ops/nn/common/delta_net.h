// The tensors of GatedDeltaNet. Queries, keys and values are [tokens, heads, size] or [batch, rows, heads, size], or
// packed side by side as [tokens, all] or [batch, rows, all]; their sizes then follow from the state.
#pragma once
#include "ops/nn/common/linear_recurrence.h"
#include "ops/nn/common/load.h"
#include "ops/nn/common/rounded.h"

namespace retort::ops {

struct DeltaExtents {
  size_t requests, tokens, q_heads, heads, keys, values;
  bool packed, each;  ///< Q, K and V side by side; a decay for each key
  size_t decay_width() const { return heads * (each ? keys : 1); }
  size_t update_width() const { return decay_width() + q_heads * keys + heads * values; }
  /// Working memory: states, decays and rates, and for each head of each request a row of q and of k and the added
  /// values.
  size_t working_floats() const {
    const size_t all = requests * heads;
    return all * keys * values + tokens * decay_width() + tokens * heads + all * (2 * keys + values);
  }
};

/// Addresses of the tensors. Rows of tokens are `*_row` elements apart.
struct DeltaTensors {
  const float *q, *k, *v;
  size_t q_row, k_row, v_row;
  float* y;
  float *state, *decay, *beta, *work;
  float* update;                     ///< null: not requested
  const int32_t *starts, *captured;  ///< null: all requests have the same number of tokens; none is captured
};

struct DeltaNet {
  enum Input : size_t { kQ, kK, kV, kStarts, kDecay, kBeta, kState, kLog, kBias, kCount, kActive };
  int64_t chunk_size = 64, state_update_capacity = 0;
  bool qk_l2_norm = false;
  float scale = 0, gate_lower_bound = -5;
  std::string update_rule = "gated_delta", gate_activation = "none", beta_activation = "none";
  static constexpr std::tuple attributes{attr("beta_activation", &DeltaNet::beta_activation),
                                         attr("chunk_size", &DeltaNet::chunk_size),
                                         attr("gate_activation", &DeltaNet::gate_activation),
                                         attr("gate_lower_bound", &DeltaNet::gate_lower_bound),
                                         attr("qk_l2_norm", &DeltaNet::qk_l2_norm),
                                         attr("scale", &DeltaNet::scale),
                                         attr("state_update_capacity", &DeltaNet::state_update_capacity),
                                         attr("update_rule", &DeltaNet::update_rule)};

  void check() const;
  void infer(InferContext& c) const;
  Cost cost(const CostContext& c) const;

  DeltaExtents extents(const RunContext& c) const;
  DeltaTensors tensors(const RunContext& c, const DeltaExtents& e, float* memory) const;
  /// One head of values of one request.
  void run_head(const DeltaExtents& e, const DeltaTensors& t, size_t head) const;
  /// The same by a kernel, with memory for blocks of tokens.
  void run_blocks(const DeltaExtents& e, const DeltaTensors& t, size_t head, float* memory) const;
  static size_t block_floats(const DeltaExtents& e) {
    return e.keys * e.values + kBlock * (2 * e.keys + std::max<size_t>(e.keys, 1));
  }

 private:
  static constexpr size_t kBlock = 32;  // tokens
  /// The tokens of one head.
  struct Head {
    size_t h, shared, first, last;  ///< the head of values, that of queries and keys, and a range of tokens
    int64_t captured;
  };
  Head head_at(const DeltaExtents& e, const DeltaTensors& t, size_t head) const;
  void load(const float* from, size_t keys, float* to) const;
  float factor(const DeltaExtents& e) const { return scale != 0 ? scale : 1 / std::sqrt(float(e.keys)); }
  LinearRule rule() const { return LinearRule::of(update_rule); }
  void fill_decay(const RunContext& c, const DeltaExtents& e, const DeltaTensors& t) const;
  /// A token that is the `slot`-th of its request: its key, and the values that it added to the state.
  struct Update {
    size_t token, slot;
    const float *key, *added;
  };
  void keep_update(const DeltaExtents& e, const DeltaTensors& t, size_t head, const Update& u) const;
};

}  // namespace retort::ops
