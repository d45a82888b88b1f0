// The interface of the models that a search runs.
#pragma once
#include <cstdint>
#include <span>

#include "ops/named_bodies.h"
#include "ops/search/common/sequences.h"

namespace retort::ops {

/// A model that predicts the next token of sequences, step by step. It keeps its caches of keys and values.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Reads the first tokens. Returns logits [batch, rows, vocabulary] of float32 or float16; the last row counts. The
  /// rows of an entry of the batch are equal at that time, so the model computes one of them.
  virtual Tensor first(const Sequences& sequences) = 0;
  /// Reads the last token of each row of `sequences`, which went on from row origins[i] of the step before. Returns
  /// logits [rows of sequences, rows, vocabulary].
  virtual Tensor next(const Sequences& sequences, std::span<const uint32_t> origins) = 0;
};

/// What both kinds of models share. The references live as long as the run.
struct SearchSpace {
  NamedBodies& bodies;
  const Parallel& parallel;
  size_t batch = 0, beams = 1;
  int64_t longest = 0;  ///< tokens of a sequence, with those that the caller gave
  int64_t pad = 0, start = -1;
  size_t rows() const { return batch * beams; }
};

}  // namespace retort::ops
