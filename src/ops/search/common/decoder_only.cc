#include "ops/search/common/decoder_only.h"

#include <algorithm>

#include "ops/search/common/caches.h"
#include "ops/search/common/subgraphs.h"

namespace retort::ops {
namespace {

Tensor view(DType dtype, Shape shape, const void* data) {
  return Tensor(dtype, std::move(shape), const_cast<void*>(data), nullptr);
}

size_t first_body(const NamedBodies& bodies, size_t decoder) {
  const auto init = bodies.find("init_decoder");
  return init ? *init : decoder;
}

}  // namespace

DecoderOnly::DecoderOnly(const SearchSpace& space, const Prompt& prompt)
    : space_(space),
      prompt_(prompt),
      decoder_(space.bodies.index("decoder")),
      first_body_(first_body(space.bodies, decoder_)),
      cache_beams_(space, decoder_),
      past_length_(find_input(space.bodies, decoder_, "past_sequence_length")),
      in_(space.bodies.input_count(decoder_)),
      out_(space.bodies.output_count(decoder_)) {
  number_tokens();
}

// Padding has position 0, and the other tokens are numbered from 0.
void DecoderOnly::number_tokens() {
  const size_t length = size_t(prompt_.length), count = prompt_.tokens.size();
  positions_.resize(count);
  mask_.resize(count);
  counts_.assign(space_.batch, 0);
  for (size_t i = 0; i < count; ++i) {
    const bool counts = prompt_.tokens[i] != space_.pad;
    mask_[i] = prompt_.mask ? prompt_.mask[i] : counts;
    positions_[i] = counts ? counts_[i / length]++ : 0;
  }
}

Tensor DecoderOnly::first(const Sequences&) {
  const auto batch = int64_t(space_.batch);
  const Shape shape{batch, prompt_.length};
  in_[kTokens] = view(DType::i32, shape, prompt_.tokens.data());
  in_[kPositions] = view(DType::i32, shape, positions_.data());
  in_[kMask] = view(DType::i32, shape, mask_.data());
  const ValueType& past =
      space_.bodies.input_type(decoder_, kPast);  // its shape was checked, and is that of all layers
  const int64_t filled = past_length_ ? space_.longest : 0;
  for (size_t i = 1; i < out_.size(); ++i)
    in_[kPast + i - 1] = zeros(past.dtype, {2, batch, past.shape[2], filled, past.shape[4]});
  if (past_length_) in_[*past_length_] = Tensor::of<int32_t>({1}, {0});
  cache_beams_.begin(in_);
  return run(first_body_);
}

Tensor DecoderOnly::attention_mask(const Sequences& sequences) const {
  const size_t length = sequences.length(), prompt = size_t(prompt_.length);
  Tensor mask(DType::i32, {int64_t(space_.rows()), int64_t(length)});
  for (size_t row = 0; row < space_.rows(); ++row) {
    int32_t* to = mask.mutable_data<int32_t>() + row * length;
    const auto from = mask_.begin() + ptrdiff_t(row / space_.beams * prompt);
    std::fill_n(std::copy_n(from, prompt, to), length - prompt, 1);
  }
  return mask;
}

// The present caches become past ones. After the first step there is one row for all beams of an entry.
void DecoderOnly::keep_caches(std::span<const uint32_t> origins) {
  std::vector<uint32_t> from(origins.begin(), origins.end());
  if (steps_ == 0) {
    for (uint32_t& row : from) row /= uint32_t(space_.beams);
  }
  for (size_t i = 1; i < out_.size(); ++i) {
    Tensor present = std::move(*out_[i].get<Tensor>());
    out_[i] = Value();
    const bool stays = steps_ > 0 && cache_beams_.used();
    in_[kPast + i - 1] = stays ? std::move(present) : gather_rows(std::move(present), 1, from, space_.parallel);
  }
}

Tensor DecoderOnly::next(const Sequences& sequences, std::span<const uint32_t> origins) {
  keep_caches(origins);
  const auto rows = int64_t(space_.rows());
  Tensor tokens(DType::i32, {rows, 1}), positions(DType::i32, {rows, 1});
  for (size_t row = 0; row < space_.rows(); ++row) {
    tokens.mutable_data<int32_t>()[row] = sequences.row(row).back();
    positions.mutable_data<int32_t>()[row] = counts_[row / space_.beams] + steps_;
  }
  in_[kTokens] = std::move(tokens);
  in_[kPositions] = std::move(positions);
  in_[kMask] = attention_mask(sequences);
  if (past_length_) in_[*past_length_] = Tensor::of<int32_t>({1}, {int32_t(sequences.length() - 1)});
  if (steps_ == 0)
    cache_beams_.spread(in_);
  else
    cache_beams_.go_on(origins, sequences.length() - 1, in_);
  ++steps_;
  return run(decoder_);
}

Tensor DecoderOnly::run(size_t body) {
  std::fill(out_.begin(), out_.end(), Value());  // a body would write into what they hold
  space_.bodies.run(body, in_, out_);
  for (size_t i = 1; i < out_.size(); ++i) returned_tensor(out_[i], 5, "a cache");
  return returned_tensor(out_[0], 3, "the tensor of logits");
}

}  // namespace retort::ops
