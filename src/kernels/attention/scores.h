// The softmax of attention: from the dot products of one query to the weights of its keys. Serial; no allocation.
#pragma once
#include <cstddef>
#include <optional>

namespace retort::kernels {

/// score[j] = (key j is hidden ? hidden : scale · dot[j]) + bias[j]
struct ScoreRow {
  size_t count = 0;  ///< keys
  float scale = 1;
  const bool* flags = nullptr;  ///< [count], or one for all keys with flag_step 0; null: no key is hidden
  size_t flag_step = 1;
  bool flag_hides = false;  ///< a true flag hides its key; else a false one does
  float hidden = 0;
  const float* bias = nullptr;  ///< [count]; null: 0
  std::optional<float> sink;    ///< score of one key more, without a value: it takes its share of the weights
  float blind = 0;              ///< weight of every key when all scores, the sink's included, are -inf
};

/// x: dot products before; after, numbers whose products with the factor that is returned are the weights,
/// e^score / Σ e^score: what sums the values multiplies a row of results instead of all weights. The numbers are 1 at
/// most, so before that a sum may be as many times too large as there are keys. NaN or +inf among the scores gives NaN
/// throughout.
float weigh_scores(const ScoreRow& row, float* x) noexcept;
/// The plain loops in double: the meaning. x: weights after.
void weigh_scores_reference(const ScoreRow& row, float* x) noexcept;

}  // namespace retort::kernels
