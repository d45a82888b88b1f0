// The beams of a search: which sequences go on, and which are finished.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ops/search/common/cross_attention.h"
#include "ops/search/common/sequences.h"

namespace retort::ops {

struct BeamSettings {
  size_t batch = 0, beams = 1;
  size_t vocabulary = 0;  ///< at least 2
  int64_t end = -1, pad = 0;
  float length_penalty = 1;
  bool early_stopping = false;  ///< an entry is done when it has `beams` finished sequences
};

/// Keeps for each entry of the batch the scores of its beams, and the best finished sequences, at most as many as
/// beams. A score is the sum of the logarithms of the tokens' probabilities; a finished sequence is ranked by its sum
/// divided by length^length_penalty.
class Beams {
 public:
  explicit Beams(const BeamSettings& settings);

  /// Adds the scores of the beams to `scores`, [batch · beams, vocabulary], and chooses how each row goes on.
  void choose(const Sequences& sequences, std::span<float> scores);
  /// What was chosen: row i goes on from row origins()[i], with the token tokens()[i].
  std::span<const uint32_t> origins() const { return origins_; }
  std::span<const int32_t> tokens() const { return tokens_; }
  /// Whether no entry of the batch can find better sequences.
  bool done() const { return open_ == 0; }

  /// Takes unfinished beams as they are, and writes the best sequences of each entry: `sequences_out` is [batch,
  /// returned, longest], `scores_out` [batch, returned] or empty. Shorter sequences are padded.
  void finish(const Sequences& sequences, size_t longest, std::span<int32_t> sequences_out,
              std::span<float> scores_out);
  /// Where the j-th best sequence of an entry ended; after finish().
  CrossAttention::End end(size_t entry, size_t j) const {
    const Finished& best = entries_[entry].finished[j];
    return {best.row, best.tokens.size()};
  }

 private:
  struct Candidate {
    float score;
    uint32_t row, token;  ///< the row counts within the entry
  };
  struct Finished {
    std::vector<int32_t> tokens;
    float score;
    size_t row;  ///< of all entries, when it ended
  };
  struct Entry {
    std::vector<Finished> finished;  ///< the best first
    bool done = false;
  };
  void rank(std::span<const float> scores);
  void choose(size_t entry, const Sequences& sequences);
  void add(Entry& entry, const Sequences& sequences, size_t row, float sum) const;
  bool can_improve(const Entry& entry, float best, size_t length) const;
  float ranked(float sum, size_t length) const;

  BeamSettings s_;
  std::vector<Entry> entries_;
  size_t open_;
  std::vector<Candidate> candidates_;  ///< of one entry, the best first
  std::vector<float> sums_;            ///< per row
  std::vector<uint32_t> origins_;
  std::vector<int32_t> tokens_;
};

}  // namespace retort::ops
