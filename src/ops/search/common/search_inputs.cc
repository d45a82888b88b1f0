#include "ops/search/common/search_inputs.h"

namespace retort::ops {

ScoreRules read_rules(const SearchInputs& in, const RuleInputs& i, size_t batch, size_t vocabulary) {
  const auto tokens = int64_t(vocabulary);
  ScoreRules r{.vocabulary = vocabulary};
  r.repetition = in.real(i.repetition_penalty, "repetition_penalty", 1);
  require(r.repetition > 0, ErrorCode::invalid_argument, "repetition_penalty is {}, expected a positive number",
          r.repetition);
  r.min_length = in.number(i.min_length, "min_length", 0);
  r.vocabulary_mask = in.optional(i.vocab_mask, "vocab_mask", {tokens});
  r.prefix_mask = in.optional(i.prefix_vocab_mask, "prefix_vocab_mask", {int64_t(batch), tokens});
  return r;
}

}  // namespace retort::ops
