// A model of a single graph, like GPT: `decoder`, and `init_decoder` for the first tokens if there is one. The keys and
// values of a layer are one tensor [2, rows, heads, length, size].
#pragma once
#include <optional>
#include <vector>

#include "ops/search/common/cache_beams.h"
#include "ops/search/common/token_model.h"

namespace retort::ops {

class DecoderOnly final : public TokenModel {
 public:
  /// The caller's tokens, [batch, length]; `mask` says which count, or is null: all but padding.
  struct Prompt {
    std::span<const int32_t> tokens;
    const int32_t* mask = nullptr;
    int64_t length = 0;
  };
  DecoderOnly(const SearchSpace& space, const Prompt& prompt);

  Tensor first(const Sequences& sequences) override;
  Tensor next(const Sequences& sequences, std::span<const uint32_t> origins) override;

 private:
  enum Input : size_t { kTokens, kPositions, kMask, kPast };
  void number_tokens();
  Tensor attention_mask(const Sequences& sequences) const;
  void keep_caches(std::span<const uint32_t> origins);
  Tensor run(size_t body);

  SearchSpace space_;
  Prompt prompt_;
  size_t decoder_, first_body_;
  CacheBeams cache_beams_;
  std::optional<size_t> past_length_;  ///< the input that says how much of caches of full length is filled
  std::vector<int32_t> mask_;          ///< [batch, length of the prompt]
  std::vector<int32_t> positions_;     ///< [batch, length of the prompt]: that of each token
  std::vector<int32_t> counts_;        ///< [batch]: tokens of the prompt that are not padding
  int32_t steps_ = 0;                  ///< tokens read after the prompt
  std::vector<Value> in_, out_;
};

}  // namespace retort::ops
