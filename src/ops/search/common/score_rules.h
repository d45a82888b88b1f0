// Rules that change the scores of the next token: penalties, masks and what may follow a timestamp.
#pragma once
#include <optional>
#include <span>

#include "ops/search/common/sequences.h"

namespace retort::ops {

/// Timestamps of Whisper: tokens from `first` on. They come in pairs, never decrease, and win if they are together more
/// likely than every other token. Ids below 0 stand for tokens that the vocabulary does not have.
struct TimestampRule {
  int64_t end_of_text = -1, start_of_transcript = -1, translate = -1, transcribe = -1, start_of_lm = -1;
  int64_t no_timestamps = -1, first = -1;

  /// `scores` are logarithms of probabilities, one per token of the vocabulary.
  void apply(std::span<const int32_t> sequence, std::span<float> scores) const;

 private:
  void suppress(bool generated, std::span<float> scores) const;
  void pair(std::span<const int32_t> sequence, size_t begin, std::span<float> scores) const;
  void prefer(std::span<float> scores) const;
};

/// All rules of a search, in the order in which they apply. A token that may not follow gets the lowest float.
struct ScoreRules {
  size_t vocabulary = 0;                     ///< number of scores per row
  size_t beams = 1;                          ///< rows per entry of the batch
  float repetition = 1;                      ///< penalty of tokens that the sequence has already
  int64_t ngram = 0;                         ///< no sequence of that many tokens occurs twice; 0: no such rule
  int64_t min_length = 0, end = -1;          ///< `end` may not follow before that length
  const int32_t* vocabulary_mask = nullptr;  ///< [vocabulary]; 0 hides a token
  const int32_t* prefix_mask = nullptr;      ///< [batch, vocabulary], in the first step
  float temperature = 1;                     ///< scores are divided by it if it is positive
  const int32_t* presence_mask = nullptr;    ///< [batch, vocabulary]
  float presence_penalty = 0;                ///< times the mask; it is subtracted
  std::optional<TimestampRule> timestamps = {};

  /// Changes `scores`, [rows, vocabulary].
  void apply(const Sequences& sequences, std::span<float> scores, bool first_step) const;

 private:
  void apply_to_row(std::span<const int32_t> sequence, size_t entry, std::span<float> scores, bool first_step) const;
};

}  // namespace retort::ops
