// Chooses the next token from logits.
#pragma once
#include <cstdint>
#include <span>

namespace chat {

struct Sampling {
  double temperature = 0;  ///< 0: the most probable token
  int64_t top_k = 0;       ///< only that many most probable tokens; 0: all
  double top_p = 1;        ///< only the most probable tokens whose probabilities add up to this
  uint64_t seed = 0;
};

class Sampler {
 public:
  explicit Sampler(const Sampling& sampling) : sampling_(sampling), state_(sampling.seed) {}
  /// Draws a token; of equal logits, the first one is the larger. The same seed and logits give the same tokens.
  int64_t choose(std::span<const float> logits);

 private:
  double draw();  ///< in [0, 1)

  Sampling sampling_;
  uint64_t state_;
};

}  // namespace chat
