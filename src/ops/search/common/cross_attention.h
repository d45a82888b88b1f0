// What the decoder of a speech model returns about its attention to the frames of sound: for each token, layer and head,
// a number for each frame. Beams change between steps, so the numbers of a sequence are those of the rows it was in.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace retort::ops {

class CrossAttention {
 public:
  struct Head {
    size_t layer, head;
  };
  /// The row that a sequence was in when the sequences had `length` tokens.
  struct End {
    size_t row, length;
  };
  /// `chosen` are the heads to keep, [count, 2] of layer and head; if there are none, all. `begun` tokens are read by the
  /// encoder.
  CrossAttention(std::vector<Head> chosen, size_t begun) : heads_(std::move(chosen)), begun_(begun) {}

  /// Keeps what a run of the decoder returned: for each layer [rows, heads, 1, frames]. Throws invalid_argument if the
  /// shapes differ, or if there is no such head.
  void keep(std::span<const Value> layers);
  /// The beams went on: row i from row origins[i].
  void follow(std::span<const uint32_t> origins) { origins_.emplace_back(origins.begin(), origins.end()); }

  /// [heads, steps, frames] of one sequence.
  Shape shape() const { return {int64_t(heads_.size()), int64_t(steps_.size()), int64_t(frames_)}; }
  /// Writes those of the sequence that ended there; steps after it are zeros.
  void write(const End& end, std::span<float> to) const;

 private:
  void choose(std::span<const Value> layers);

  std::vector<Head> heads_;
  size_t begun_, frames_ = 0;
  std::vector<std::vector<uint32_t>> origins_;  ///< after each choice of tokens
  std::vector<std::vector<float>> steps_;       ///< of each run [rows, heads, frames]
};

}  // namespace retort::ops
