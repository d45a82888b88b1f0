#include "ops/search/common/greedy_op.h"

#include <algorithm>

#include "ops/search/common/decoder_only.h"

namespace retort::ops {

void GreedyAttributes::check() const {
  require(model_type == 0, ErrorCode::invalid_argument,
          "model_type is {}, expected 0 (decoder only); for models with an encoder use BeamSearch", model_type);
}

void GreedyAttributes::infer(InferContext& c) const {
  c.set(0, DType::i32);
  if (!c.node()) return;
  check_subgraphs(*c.node(), SearchModel::decoder_only, start, vocabulary);
  const Dim batch = batch_of(c, 2);
  c.set(0, DType::i32, {batch, extent_of(c, kLongest)});
}

GreedyRun::GreedyRun(const RunContext& c, const GreedyAttributes& a)
    : c_(c), a_(a), in_(c), space_{named_bodies(c), c.parallel()} {
  const Shape& tokens = in_.shape(In::kTokens);
  require(tokens.rank() == 2 && tokens[1] > 0, ErrorCode::invalid_argument,
          "input_ids has shape {}, expected [batch, length] with at least one token per sequence", tokens);
  space_.batch = size_t(tokens[0]);
  given_ = tokens[1];
  space_.longest = in_.number(In::kLongest, "max_length", 0);
  require(space_.longest > given_, ErrorCode::invalid_argument,
          "max_length is {}, expected more than the {} tokens of input_ids", space_.longest, given_);
  space_.pad = a.pad;
}

ScoreRules GreedyRun::rules(size_t vocabulary) const {
  constexpr RuleInputs kRules{In::kShortest, In::kRepetition, In::kMask, In::kPrefixMask};
  ScoreRules r = read_rules(in_, kRules, space_.batch, vocabulary);
  r.ngram = a_.ngram;
  r.end = a_.end;
  r.temperature = temperature_;
  const Shape each{int64_t(space_.batch), int64_t(vocabulary)};
  if (presence_penalty_ != 0) r.presence_mask = in_.optional(In::kPresence, "presence_mask", each);
  r.presence_penalty = presence_penalty_;
  return r;
}

// Rows that have ended go on with padding. Returns whether all have.
bool GreedyRun::end_rows(std::span<int32_t> tokens, std::vector<bool>& ended) const {
  bool all = true;
  for (size_t i = 0; i < tokens.size(); ++i) {
    ended[i] = ended[i] || tokens[i] == a_.end;
    if (ended[i]) tokens[i] = int32_t(a_.pad);
    all = all && ended[i];
  }
  return all;
}

void GreedyRun::finish(const Sequences& sequences) const {
  const auto longest = size_t(space_.longest);
  auto* to = static_cast<int32_t*>(c_.allocate(0, DType::i32, {int64_t(space_.batch), space_.longest}));
  std::fill_n(to, space_.batch * longest, int32_t(a_.pad));
  for (size_t i = 0; i < sequences.rows(); ++i)
    std::copy_n(sequences.row(i).begin(), sequences.length(), to + i * longest);
}

void GreedyRun::run(Pick pick) {
  Sequences sequences(space_.batch, 1, in_.tokens(In::kTokens), size_t(given_));
  if (space_.batch == 0) return finish(sequences);
  const int32_t* mask = in_.optional(In::kAttentionMask, "attention_mask", in_.shape(In::kTokens));
  DecoderOnly model(space_, {.tokens = in_.tokens(In::kTokens), .mask = mask, .length = given_});
  TokenScores scores(space_.batch, 1, size_t(std::max<int64_t>(a_.vocabulary, 0)));
  scores.load(model.first(sequences));
  const ScoreRules rules = this->rules(scores.vocabulary());
  std::vector<int32_t> tokens(space_.batch);
  std::vector<uint32_t> rows(space_.batch);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = uint32_t(i);
  std::vector<bool> ended(space_.batch);
  for (bool first = true;; first = false) {
    rules.apply(sequences, scores.all(), first);
    pick(scores, tokens);
    const bool all_ended = end_rows(tokens, ended);
    sequences.append(tokens);
    const bool full = int64_t(sequences.length()) == space_.longest;
    if (all_ended || full || c_.parallel().cancelled()) break;
    scores.load(model.next(sequences, rows));
  }
  finish(sequences);
}

}  // namespace retort::ops
