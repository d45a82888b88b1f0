// What BeamSearch and WhisperBeamSearch have in common: attributes, types, and the run.
#pragma once
#include <memory>
#include <optional>

#include "ops/op.h"
#include "ops/search/common/beams.h"
#include "ops/search/common/logits.h"
#include "ops/search/common/score_rules.h"
#include "ops/search/common/search_inputs.h"
#include "ops/search/common/token_model.h"

namespace retort::ops {

struct BeamAttributes {
  int64_t end = -1, pad = -1, start = -1, ngram = 0, vocabulary = -1, early_stopping = 0;
  static constexpr std::tuple attributes{
      attr("decoder_start_token_id", &BeamAttributes::start), attr("early_stopping", &BeamAttributes::early_stopping),
      required("eos_token_id", &BeamAttributes::end),         attr("no_repeat_ngram_size", &BeamAttributes::ngram),
      required("pad_token_id", &BeamAttributes::pad),         attr("vocab_size", &BeamAttributes::vocabulary)};
  enum Input : size_t {
    kContent,
    kLongest,
    kShortest,
    kBeams,
    kReturned,
    kLengthPenalty,
    kRepetition,
    kMask,
    kPrefixMask,
    kAttentionMask,
    kFirstTokens,
    kProcessor
  };
  enum Output : size_t { kSequences, kSequenceScores, kScores };

  /// Types, shapes and graphs. Does nothing while a run is laid out.
  void infer(InferContext& c, SearchModel model) const;
};

/// What only Whisper has.
struct BeamExtras {
  float temperature = 1;
  TimestampRule timestamps = {};  ///< applies if logits_processor is 1
  int64_t no_speech = -1;         ///< the token whose probability is an output
  size_t no_speech_output = 0;    ///< 0: there is no such output
  bool cross_attention = false;   ///< the decoder returns products of queries and keys
  size_t forced_input = 0;        ///< the first tokens to choose, [batch, any]; 0: there is no such input
  size_t heads_input = 0, cross_attention_output = 0;  ///< the heads to keep; the products of the returned sequences
};

/// One run of a beam search.
class BeamRun {
 public:
  BeamRun(const RunContext& c, const BeamAttributes& a, SearchModel model, const BeamExtras& extras);
  void run();

 private:
  using In = BeamAttributes;
  void read_extents();
  Sequences begin() const;
  std::unique_ptr<TokenModel> make_model(const Sequences& sequences);
  ScoreRules rules(size_t vocabulary) const;
  BeamSettings settings(size_t vocabulary) const;
  std::optional<TimestampRule> timestamps(size_t vocabulary) const;
  void search(TokenModel& model, Sequences& sequences);
  void finish(Beams& beams, const Sequences& sequences);
  float* begin_scores(size_t vocabulary) const;
  void keep_speech(TokenScores& scores) const;
  void force_tokens(size_t step, TokenScores& scores) const;
  std::vector<CrossAttention::Head> chosen_heads() const;
  void write_cross_attention(const Beams& beams) const;
  void return_nothing() const;

  const RunContext& c_;
  const BeamAttributes& a_;
  const SearchModel model_;
  const BeamExtras& extras_;
  SearchInputs in_;
  SearchSpace space_;
  int64_t returned_ = 1, given_ = 1;  ///< sequences per entry of the batch; tokens to begin with
  std::optional<CrossAttention> cross_attention_;
  std::vector<int32_t> start_;  ///< [batch], if the caller gives no tokens to begin with
};

}  // namespace retort::ops
