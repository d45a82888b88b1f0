// What GreedySearch and Sampling have in common: attributes, types, and the run.
#pragma once
#include "base/function_ref.h"
#include "ops/op.h"
#include "ops/search/common/logits.h"
#include "ops/search/common/score_rules.h"
#include "ops/search/common/search_inputs.h"
#include "ops/search/common/token_model.h"

namespace retort::ops {

struct GreedyAttributes {
  int64_t end = -1, pad = -1, start = -1, ngram = 0, vocabulary = -1, model_type = 0;
  static constexpr std::tuple attributes{
      attr("decoder_start_token_id", &GreedyAttributes::start), required("eos_token_id", &GreedyAttributes::end),
      attr("model_type", &GreedyAttributes::model_type),        attr("no_repeat_ngram_size", &GreedyAttributes::ngram),
      required("pad_token_id", &GreedyAttributes::pad),         attr("vocab_size", &GreedyAttributes::vocabulary)};
  enum Input : size_t { kTokens, kLongest, kShortest, kRepetition, kMask, kPrefixMask, kAttentionMask, kPresence };

  void check() const;
  /// Types, shapes and graphs.
  void infer(InferContext& c) const;
};

/// One run: chooses one token per sequence and step, until all sequences have ended or are full.
class GreedyRun {
 public:
  /// Chooses a token for each row of the scores.
  using Pick = FunctionRef<void(TokenScores& scores, std::span<int32_t> tokens)>;

  GreedyRun(const RunContext& c, const GreedyAttributes& a);
  /// For Sampling; see ScoreRules.
  void set_temperature(float temperature) { temperature_ = temperature; }
  void set_presence_penalty(float penalty) { presence_penalty_ = penalty; }
  void run(Pick pick);

 private:
  using In = GreedyAttributes;
  ScoreRules rules(size_t vocabulary) const;
  bool end_rows(std::span<int32_t> tokens, std::vector<bool>& ended) const;
  void finish(const Sequences& sequences) const;

  const RunContext& c_;
  const GreedyAttributes& a_;
  SearchInputs in_;
  SearchSpace space_;
  int64_t given_ = 0;  ///< tokens to begin with
  float temperature_ = 1, presence_penalty_ = 0;
};

}  // namespace retort::ops
