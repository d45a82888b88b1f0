#include "ops/search/common/beams.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retort::ops {
namespace {

// The sum of all beams but the first: in the first step, when all beams are equal, only the first one counts.
constexpr float kUnlikely = -1e9f;

}  // namespace

Beams::Beams(const BeamSettings& settings)
    : s_(settings),
      entries_(settings.batch),
      open_(settings.batch),
      sums_(settings.batch * settings.beams),
      origins_(settings.batch * settings.beams),
      tokens_(settings.batch * settings.beams) {
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] = i % s_.beams ? kUnlikely : 0.0f;
}

// The 2 · beams best candidates of an entry; of equal ones, those that come first.
void Beams::rank(std::span<const float> scores) {
  const size_t most = 2 * s_.beams;
  const auto better = [](float score, const Candidate& c) { return score > c.score; };
  candidates_.clear();
  for (size_t i = 0; i < scores.size(); ++i) {
    const float score = std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i];
    if (candidates_.size() == most) {
      if (!better(score, candidates_.back())) continue;
      candidates_.pop_back();
    }
    const auto at = std::upper_bound(candidates_.begin(), candidates_.end(), score, better);
    candidates_.insert(at, {score, uint32_t(i / s_.vocabulary), uint32_t(i % s_.vocabulary)});
  }
}

float Beams::ranked(float sum, size_t length) const { return sum / std::pow(float(length), s_.length_penalty); }

void Beams::add(Entry& entry, const Sequences& sequences, size_t row, float sum) const {
  const auto tokens = sequences.row(row);
  const float score = ranked(sum, tokens.size());
  std::vector<Finished>& all = entry.finished;
  if (all.size() == s_.beams && !(score > all.back().score)) return;
  const auto at =
      std::upper_bound(all.begin(), all.end(), score, [](float x, const Finished& f) { return x > f.score; });
  all.insert(at, {{tokens.begin(), tokens.end()}, score, row});
  if (all.size() > s_.beams) all.pop_back();
}

bool Beams::can_improve(const Entry& entry, float best, size_t length) const {
  return entry.finished.back().score < ranked(best, length);
}

void Beams::choose(size_t index, const Sequences& sequences) {
  Entry& entry = entries_[index];
  const size_t first = index * s_.beams;
  size_t taken = 0;
  for (size_t i = 0; i < candidates_.size() && taken < s_.beams; ++i) {
    const Candidate& c = candidates_[i];
    if (int64_t(c.token) == s_.end) {
      // An end that is not among the best `beams` candidates is dropped.
      if (i < s_.beams) add(entry, sequences, first + c.row, c.score);
      continue;
    }
    sums_[first + taken] = c.score;
    tokens_[first + taken] = int32_t(c.token);
    origins_[first + taken] = uint32_t(first + c.row);
    ++taken;
  }
  if (entry.finished.size() < s_.beams) return;
  if (!s_.early_stopping && can_improve(entry, candidates_.front().score, sequences.length())) return;
  entry.done = true;
  --open_;
}

void Beams::choose(const Sequences& sequences, std::span<float> scores) {
  for (size_t i = 0; i < scores.size(); ++i) scores[i] += sums_[i / s_.vocabulary];
  const size_t size = s_.beams * s_.vocabulary;
  for (size_t entry = 0; entry < s_.batch; ++entry) {
    const size_t first = entry * s_.beams;
    if (entries_[entry].done) {
      std::fill_n(sums_.begin() + ptrdiff_t(first), s_.beams, 0.0f);
      std::fill_n(tokens_.begin() + ptrdiff_t(first), s_.beams, int32_t(s_.pad));
      for (size_t i = first; i < first + s_.beams; ++i) origins_[i] = uint32_t(i);
      continue;
    }
    rank(scores.subspan(entry * size, size));
    choose(entry, sequences);
  }
}

void Beams::finish(const Sequences& sequences, size_t longest, std::span<int32_t> sequences_out,
                   std::span<float> scores_out) {
  std::fill(sequences_out.begin(), sequences_out.end(), int32_t(s_.pad));
  const size_t returned = s_.batch && longest ? sequences_out.size() / (s_.batch * longest) : 0;
  for (size_t i = 0; i < s_.batch; ++i) {
    Entry& entry = entries_[i];
    for (size_t row = i * s_.beams; !entry.done && row < (i + 1) * s_.beams; ++row)
      add(entry, sequences, row, sums_[row]);
    for (size_t j = 0; j < returned; ++j) {
      const Finished& best = entry.finished[j];
      std::copy(best.tokens.begin(), best.tokens.end(),
                sequences_out.begin() + ptrdiff_t((i * returned + j) * longest));
      if (!scores_out.empty()) scores_out[i * returned + j] = best.score;
    }
  }
}

}  // namespace retort::ops
