// The attention of com.microsoft's operators with heads side by side: MultiHeadAttention and DecoderMaskedMultiHeadAttention.
// They differ in the order of their inputs. Masks of padding add `filter` to the scores of keys that they hide.
#pragma once
#include "ops/nn/common/attention.h"

namespace retort::ops {

struct HeadAttention {
  /// Which input is what.
  struct Inputs {
    size_t q, k, v, projection, mask, bias, past_k, past_v, past_rows, beam, cache;
  };
  enum Output : size_t { kY, kPresentK, kPresentV, kScores };

  Inputs in;
  int64_t heads = 0;
  float filter = -10000, scale = 0;
  bool causal = false;      ///< with more than one query
  bool one_row = false;     ///< only one query
  bool flat_packs = false;  ///< Q, K and V may lie one after the other in [B, S, 3 * hidden]

  void infer(InferContext& c) const;
  Cost cost(const CostContext& c) const;
  size_t scratch(const RunContext& c) const;
  void reference(RunContext& c) const;  ///< on float
  void fast(RunContext& c) const;
};

}  // namespace retort::ops
