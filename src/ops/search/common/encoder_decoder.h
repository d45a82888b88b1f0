// A model of two graphs, like T5 (text) and Whisper (sound): `encoder` and `decoder`. The decoder has caches [rows, heads,
// length, size] for keys and values of its own tokens, which grow, and for those of the encoder, which stay.
#pragma once
#include <optional>
#include <vector>

#include "ops/search/common/cache_beams.h"
#include "ops/search/common/cross_attention.h"
#include "ops/search/common/subgraphs.h"
#include "ops/search/common/token_model.h"

namespace retort::ops {

class EncoderDecoder final : public TokenModel {
 public:
  /// What the encoder reads; the tensors share memory with the inputs of the run.
  struct Source {
    SearchModel kind = SearchModel::text;
    Tensor content;  ///< tokens [batch, length] or features [batch, features, length]
    Tensor mask;     ///< [batch, length] for text; none: all tokens but leading padding count
    Tensor start;    ///< the decoder's first tokens [batch, any]
    /// Keeps what the decoder returns beside logits and caches; null if it returns only these.
    CrossAttention* cross_attention = nullptr;
  };
  EncoderDecoder(const SearchSpace& space, Source source);

  Tensor first(const Sequences& sequences) override;
  Tensor next(const Sequences& sequences, std::span<const uint32_t> origins) override;

 private:
  /// The decoder's inputs.
  struct Ports {
    std::optional<size_t> encoder_tokens, mask, hidden, past_length;
    size_t caches = 1;  ///< the first cache
  };
  static Ports find_ports(const NamedBodies& bodies, size_t decoder, SearchModel kind);
  Tensor tokens(const Sequences& sequences, size_t rows) const;
  void keep_encoded(std::vector<Value>& encoded, size_t first_cache);
  void begin_caches();
  void spread();
  void keep_caches(std::span<const uint32_t> origins);
  void set_past_length(size_t length);
  Tensor run_decoder();

  SearchSpace space_;
  Source source_;
  size_t encoder_, decoder_;
  Ports ports_;
  CacheBeams cache_beams_;
  size_t own_caches_;            ///< caches of the decoder's tokens: two per layer
  bool whole_;                   ///< the decoder reads whole sequences, not only their last tokens
  bool spread_ = false;          ///< inputs have one row per beam, not per entry of the batch
  std::vector<Value> in_, out_;  ///< of the decoder
};

}  // namespace retort::ops
