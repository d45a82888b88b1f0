// What GroupQueryAttention computes on: its attributes, and its inputs with their extents.
#pragma once
#include <optional>
#include <string>

#include "ops/nn/common/grouped_heads.h"
#include "ops/nn/common/kv_cache.h"

namespace retort::ops {

struct GroupedQuery {
  int64_t num_heads = 0, kv_num_heads = 0, local_window_size = -1, qk_output = 0, cache_bits = 0;
  bool do_rotary = false, rotary_interleaved = false, causal = true, sliding_cache = false;
  int64_t smooth_softmax = -1;
  float scale = 0, softcap = 0, norm_epsilon = 1e-6f;
  std::optional<float> q_epsilon, k_epsilon;
  std::string k_quant_type = "NONE", v_quant_type = "NONE";
  using Self = GroupedQuery;
  static constexpr std::tuple grouped_attributes{attr("causal", &Self::causal),
                                                 attr("do_rotary", &Self::do_rotary),
                                                 attr("k_norm_epsilon", &Self::k_epsilon),
                                                 attr("k_quant_type", &Self::k_quant_type),
                                                 attr("kv_cache_bit_width", &Self::cache_bits),
                                                 required("kv_num_heads", &Self::kv_num_heads),
                                                 attr("local_window_size", &Self::local_window_size),
                                                 required("num_heads", &Self::num_heads),
                                                 attr("q_norm_epsilon", &Self::q_epsilon),
                                                 attr("qk_norm_epsilon", &Self::norm_epsilon),
                                                 attr("qk_output", &Self::qk_output),
                                                 attr("rotary_interleaved", &Self::rotary_interleaved),
                                                 attr("scale", &Self::scale),
                                                 attr("sliding_window_cache", &Self::sliding_cache),
                                                 attr("smooth_softmax", &Self::smooth_softmax),
                                                 attr("softcap", &Self::softcap),
                                                 attr("v_quant_type", &Self::v_quant_type)};
  enum Input : size_t {
    kQ,
    kK,
    kV,
    kPastK,
    kPastV,
    kLast,
    kTotal,
    kCos,
    kSin,
    kPositions,
    kBias,
    kSinks,
    kKScale,
    kVScale,
    kQNorm,
    kKNorm,
    kFresh
  };
  enum Output : size_t { kY, kPresentK, kPresentV, kScores };

  bool quantised() const { return k_quant_type != "NONE"; }
  size_t window() const { return size_t(local_window_size); }

  void check() const;
  void infer(InferContext& c) const;

  GroupedHeads extents(const RunContext& c) const;
  void check_inputs(const RunContext& c, const GroupedHeads& e) const;
  /// What the run does to entry b of the batch.
  KvEntry entry_of(const RunContext& c, const GroupedHeads& e, size_t b) const;

 private:
  void check_given(const InferContext& c, DType cache) const;
};

}  // namespace retort::ops
