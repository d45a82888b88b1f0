// The scores of the next token, from the logits of a model.
#pragma once
#include <vector>

#include "base/parallel.h"
#include "tensor/tensor.h"

namespace retort::ops {

/// [rows, vocabulary]: for each of `rows` rows the last row of its logits, [batch or rows, any, at least vocabulary];
/// with one entry per batch, several rows share it. Throws invalid_argument naming the shape if it is another one.
/// `vocabulary` is 0 before the first call, which sets it.
class TokenScores {
 public:
  TokenScores(size_t rows, size_t beams, size_t vocabulary) : rows_(rows), beams_(beams), vocabulary_(vocabulary) {}
  void load(const Tensor& logits);
  /// Makes logits logarithms of probabilities.
  void normalise(const Parallel& parallel);
  std::span<float> all() { return values_; }
  std::span<float> row(size_t i) { return std::span(values_).subspan(i * vocabulary_, vocabulary_); }
  size_t vocabulary() const { return vocabulary_; }

 private:
  size_t rows_, beams_, vocabulary_;
  std::vector<float> values_;
};

}  // namespace retort::ops
