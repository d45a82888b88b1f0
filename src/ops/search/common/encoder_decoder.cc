#include "ops/search/common/encoder_decoder.h"

#include <algorithm>

#include "ops/search/common/caches.h"

namespace retort::ops {
namespace {

// Padding after the first other token counts: it may be the end of the text.
Tensor text_mask(const Tensor& tokens, int64_t pad) {
  Tensor mask(DType::i32, tokens.shape());
  const auto length = size_t(tokens.shape()[1]);
  for (size_t i = 0; i < tokens.count(); ++i) {
    const bool begun = i % length > 0 && mask.data<int32_t>()[i - 1] != 0;
    mask.mutable_data<int32_t>()[i] = begun || tokens.data<int32_t>()[i] != pad;
  }
  return mask;
}

bool reads_whole_sequences(const ValueType& tokens) {
  return !tokens.ranked || tokens.rank() != 2 || tokens.shape[1] != 1;
}

}  // namespace

EncoderDecoder::EncoderDecoder(const SearchSpace& space, Source source)
    : space_(space),
      source_(std::move(source)),
      encoder_(space.bodies.index("encoder")),
      decoder_(space.bodies.index("decoder")),
      ports_(find_ports(space.bodies, decoder_, source_.kind)),
      cache_beams_(space, decoder_),
      own_caches_((space.bodies.output_count(decoder_) - 1) / (source_.cross_attention ? 3 : 2) * 2),
      whole_(reads_whole_sequences(space.bodies.input_type(decoder_, 0))),
      in_(space.bodies.input_count(decoder_)),
      out_(space.bodies.output_count(decoder_)) {
  if (source_.kind == SearchModel::text && !source_.mask) source_.mask = text_mask(source_.content, space_.pad);
}

// In the order that check_subgraphs() demands.
EncoderDecoder::Ports EncoderDecoder::find_ports(const NamedBodies& bodies, size_t decoder, SearchModel kind) {
  Ports p;
  const auto next = [&](std::string_view name) -> std::optional<size_t> {
    if (bodies.input_name(decoder, p.caches) != name) return std::nullopt;
    return p.caches++;
  };
  if (kind == SearchModel::text) {
    p.encoder_tokens = next("encoder_input_ids");
    p.mask = next("encoder_attention_mask");
  }
  p.hidden = next("encoder_hidden_states");
  p.past_length = find_input(bodies, decoder, "past_sequence_length");
  return p;
}

Tensor EncoderDecoder::first(const Sequences& sequences) {
  std::vector<Value> given{source_.content}, encoded(space_.bodies.output_count(encoder_));
  if (source_.kind == SearchModel::text) given.push_back(source_.mask);
  const bool decodes = space_.bodies.input_count(encoder_) > given.size();
  if (decodes) given.push_back(source_.start);
  space_.bodies.run(encoder_, given, encoded);
  if (ports_.encoder_tokens) in_[*ports_.encoder_tokens] = source_.content;
  if (ports_.mask) in_[*ports_.mask] = source_.mask;
  keep_encoded(encoded, decodes ? 2 : 0);
  if (decodes) return returned_tensor(encoded[0], 3, "the tensor of logits");
  begin_caches();
  in_[0] = tokens(sequences, space_.batch);
  set_past_length(0);
  cache_beams_.begin(in_);
  return run_decoder();
}

// Caches of the decoder's own tokens, if the encoder has computed them, and those of the encoder.
void EncoderDecoder::keep_encoded(std::vector<Value>& encoded, size_t first_cache) {
  if (ports_.hidden) {
    require(first_cache > 0, ErrorCode::invalid_argument,
            "the decoder reads encoder_hidden_states, but the encoder does not return them");
    returned_tensor(encoded[1], 3, "the tensor of hidden states");
    in_[*ports_.hidden] = encoded[1];
  }
  for (size_t i = first_cache; i < encoded.size(); ++i) {
    returned_tensor(encoded[i], 4, "a cache");
    const size_t at = i - first_cache;
    if (first_cache > 0 && at < own_caches_)
      out_[1 + at] = std::move(encoded[i]);
    else
      in_[ports_.caches + at + (first_cache > 0 ? 0 : own_caches_)] = std::move(encoded[i]);
  }
}

void EncoderDecoder::begin_caches() {
  // The shape of the first cache was checked, and is that of all layers.
  const ValueType& past = space_.bodies.input_type(decoder_, ports_.caches);
  const int64_t filled = ports_.past_length ? space_.longest : 0;
  for (size_t i = 0; i < own_caches_; ++i)
    in_[ports_.caches + i] = zeros(past.dtype, {int64_t(space_.batch), past.shape[1], filled, past.shape[3]});
}

Tensor EncoderDecoder::tokens(const Sequences& sequences, size_t rows) const {
  const size_t count = whole_ ? sequences.length() : 1, step = sequences.rows() / rows;
  Tensor t(DType::i32, {int64_t(rows), int64_t(count)});
  for (size_t row = 0; row < rows; ++row) {
    const auto last = sequences.row(row * step).last(count);
    std::copy(last.begin(), last.end(), t.mutable_data<int32_t>() + row * count);
  }
  return t;
}

// Inputs of the decoder that do not change get one row per beam.
void EncoderDecoder::spread() {
  spread_ = true;
  if (space_.beams == 1) return;
  const auto repeat = [&](size_t i) { in_[i] = repeat_rows(*in_[i].tensor(), space_.beams, space_.parallel); };
  for (const auto& port : {ports_.encoder_tokens, ports_.mask, ports_.hidden}) {
    if (port) repeat(*port);
  }
  for (size_t i = 0; i < own_caches_; ++i) repeat(ports_.caches + own_caches_ + i);
}

void EncoderDecoder::keep_caches(std::span<const uint32_t> origins) {
  std::vector<uint32_t> from(origins.begin(), origins.end());
  if (!spread_) {
    for (uint32_t& row : from) row /= uint32_t(space_.beams);
  }
  for (size_t i = 0; i < own_caches_; ++i) {
    Tensor present = std::move(*out_[1 + i].get<Tensor>());
    out_[1 + i] = Value();
    if (!spread_ || !cache_beams_.used()) present = gather_rows(std::move(present), 0, from, space_.parallel);
    const bool full = !ports_.past_length || present.shape()[2] == space_.longest;
    in_[ports_.caches + i] = full ? std::move(present) : extended(present, 2, space_.longest);
  }
}

void EncoderDecoder::set_past_length(size_t length) {
  if (ports_.past_length) in_[*ports_.past_length] = Tensor::of<int32_t>({1}, {int32_t(length)});
}

Tensor EncoderDecoder::next(const Sequences& sequences, std::span<const uint32_t> origins) {
  keep_caches(origins);
  if (spread_) {
    cache_beams_.go_on(origins, sequences.length() - 1, in_);
  } else {
    spread();
    cache_beams_.spread(in_);
  }
  in_[0] = tokens(sequences, sequences.rows());
  set_past_length(sequences.length() - 1);
  return run_decoder();
}

Tensor EncoderDecoder::run_decoder() {
  std::fill(out_.begin(), out_.end(), Value());  // a body would write into what they hold
  space_.bodies.run(decoder_, in_, out_);
  for (size_t i = 1; i <= own_caches_; ++i) returned_tensor(out_[i], 4, "a cache");
  if (source_.cross_attention) source_.cross_attention->keep(std::span(out_).subspan(1 + own_caches_));
  return returned_tensor(out_[0], 3, "the tensor of logits");
}

}  // namespace retort::ops
