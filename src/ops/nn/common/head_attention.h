// The attention of the operators of com.microsoft whose heads lie side by side: MultiHeadAttention and
// DecoderMaskedMultiHeadAttention. They differ in the order of their inputs. A mask of padding adds `filter` to the
// scores of the keys that it hides.
#pragma once
#include "ops/nn/common/attention.h"

namespace retort::ops {

struct HeadAttention {
  /// The indices of the inputs.
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
