// The softmax of attention: from the dot products of one query to the weights of its keys. Serial; no allocation.
#pragma once
#include <cstddef>
#include <optional>

namespace retort::kernels {

/// score[j] = (key j is hidden ? hidden : scale · dot[j]) + bias[j]
struct ScoreRow {
  size_t count = 0;  ///< number of keys
  float scale = 1;
  const bool* flags = nullptr;  ///< [count], or one for all keys if flag_step is 0; null: no key is hidden
  size_t flag_step = 1;
  bool flag_hides = false;  ///< true flags hide their keys; otherwise false ones do
  float hidden = 0;
  const float* bias = nullptr;  ///< [count]; null: 0
  std::optional<float> sink;    ///< score of an extra key without a value, which takes part in the softmax
  float blind = 0;              ///< weight of every key if all scores, including the sink's, are -inf
};

/// x holds dot products before. Afterwards, x times the returned factor are the weights e^score / Σ e^score: the caller
/// sums values with x and multiplies the sum by the factor, instead of all weights. The numbers in x are at most 1, so
/// a sum of values may be larger than the result by up to the number of keys. A NaN or +inf among the scores makes
/// everything NaN.
float weigh_scores(const ScoreRow& row, float* x) noexcept;
/// The reference: plain loops in double. x holds the weights afterwards.
void weigh_scores_reference(const ScoreRow& row, float* x) noexcept;

}  // namespace retort::kernels
