#include "ops/search/common/score_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace retort::ops {
namespace {

constexpr float kHidden = std::numeric_limits<float>::lowest();
// The first timestamp is at most one second, 50 steps of 0.02 s.
constexpr int64_t kLastFirstTimestamp = 50;

bool is_token(int64_t id, size_t vocabulary) { return id >= 0 && size_t(id) < vocabulary; }

void hide(int64_t id, std::span<float> scores) {
  if (is_token(id, scores.size())) scores[size_t(id)] = kHidden;
}

// Hides tokens [begin, end); both may be outside of the vocabulary.
void hide(int64_t begin, int64_t end, std::span<float> scores) {
  const auto last = std::min(end, int64_t(scores.size()));
  for (int64_t i = std::max<int64_t>(begin, 0); i < last; ++i) scores[size_t(i)] = kHidden;
}

void hide_masked(const int32_t* mask, std::span<float> scores) {
  for (size_t i = 0; i < scores.size(); ++i) {
    if (mask[i] == 0) scores[i] = kHidden;
  }
}

void penalise_repeated(std::span<const int32_t> sequence, float penalty, std::span<float> scores) {
  std::vector<bool> seen(scores.size());
  for (const int32_t token : sequence) {
    if (!is_token(token, scores.size()) || seen[size_t(token)]) continue;
    seen[size_t(token)] = true;
    float& score = scores[size_t(token)];
    score = score < 0 ? score * penalty : score / penalty;
  }
}

// Hides tokens that would complete a sequence of `size` tokens that occurred before.
void hide_repeated(std::span<const int32_t> sequence, size_t size, std::span<float> scores) {
  if (size > sequence.size()) return;
  const size_t prefix = size - 1;
  const auto last = sequence.subspan(sequence.size() - prefix);
  for (size_t i = 0; i + size <= sequence.size(); ++i) {
    if (std::equal(last.begin(), last.end(), sequence.begin() + ptrdiff_t(i))) hide(sequence[i + prefix], scores);
  }
}

}  // namespace

void TimestampRule::suppress(bool generated, std::span<float> scores) const {
  hide(no_timestamps, scores);
  hide(start_of_lm, scores);
  if (!generated) return;
  for (const int64_t id : {start_of_transcript, translate, transcribe}) hide(id, scores);
}

// What may follow the last timestamps; `begin` is the position after the first one.
void TimestampRule::pair(std::span<const int32_t> sequence, size_t begin, std::span<float> scores) const {
  const size_t length = sequence.size();
  const auto vocabulary = int64_t(scores.size());
  const bool last = length > 0 && sequence[length - 1] >= first;
  const bool before = length <= begin || sequence[length - 2] >= first;
  if (last && before) hide(first, vocabulary, scores);
  if (last && !before) hide(0, end_of_text, scores);
  const auto found = std::find_if(sequence.rbegin(), sequence.rend(), [&](int32_t t) { return t >= first; });
  if (found != sequence.rend()) hide(first, int64_t(*found) + (last && !before ? 0 : 1), scores);
  if (length == begin) hide(first + kLastFirstTimestamp + 1, vocabulary, scores);
}

void TimestampRule::prefer(std::span<float> scores) const {
  const auto text = scores.first(size_t(first)), times = scores.subspan(size_t(first));
  const float top = *std::max_element(times.begin(), times.end());
  float sum = 0;
  for (const float s : times) {
    if (s > kHidden) sum += std::exp(s - top);
  }
  const float all = sum > 0 ? std::log(sum) + top : kHidden;
  if (all > *std::max_element(text.begin(), text.end())) hide(0, first, scores);
}

void TimestampRule::apply(std::span<const int32_t> sequence, std::span<float> scores) const {
  const auto found = std::find_if(sequence.begin(), sequence.end(), [&](int32_t t) { return t >= first; });
  const auto begin = std::min(size_t(found - sequence.begin()) + 1, sequence.size());
  suppress(sequence.size() > begin, scores);
  pair(sequence, begin, scores);
  prefer(scores);
}

void ScoreRules::apply_to_row(std::span<const int32_t> sequence, size_t entry, std::span<float> scores,
                              bool first_step) const {
  if (repetition != 1) penalise_repeated(sequence, repetition, scores);
  if (ngram > 0) hide_repeated(sequence, size_t(ngram), scores);
  if (vocabulary_mask) hide_masked(vocabulary_mask, scores);
  if (prefix_mask && first_step) hide_masked(prefix_mask + entry * vocabulary, scores);
  if (int64_t(sequence.size()) < min_length) hide(end, scores);
  if (temperature > 0 && temperature != 1) {
    for (float& s : scores) s /= temperature;
  }
  if (presence_mask && presence_penalty != 0) {
    for (size_t i = 0; i < scores.size(); ++i)
      scores[i] -= float(presence_mask[entry * vocabulary + i]) * presence_penalty;
  }
  if (timestamps) timestamps->apply(sequence, scores);
}

void ScoreRules::apply(const Sequences& sequences, std::span<float> scores, bool first_step) const {
  for (size_t i = 0; i < sequences.rows(); ++i)
    apply_to_row(sequences.row(i), i / beams, scores.subspan(i * vocabulary, vocabulary), first_step);
}

}  // namespace retort::ops
