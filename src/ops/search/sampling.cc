// Sampling: continues sequences with tokens that are drawn by their probabilities. Top-p sampling excludes unlikely
// tokens whose probabilities add up to at most 1 - top_p.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/norm/softmax.h"
#include "ops/search/common/greedy_op.h"

namespace retort::ops {
namespace {

/// The generator of ONNX Runtime, so that the same seed gives the same tokens: x' = 16807 x mod (2^31 - 1), two numbers
/// of which make a double in [0, 1).
class Minimal {
 public:
  explicit Minimal(uint32_t seed) : x_(seed % kModulus ? seed % kModulus : 1) {}
  double uniform() {
    constexpr double kRange = double(kModulus - 1);
    const double low = next(), high = next();
    return std::min((low + high * kRange) / (kRange * kRange), std::nextafter(1.0, 0.0));
  }

 private:
  static constexpr uint64_t kModulus = 2147483647;
  double next() {
    x_ = x_ * 16807 % kModulus;
    return double(x_ - 1);
  }
  uint64_t x_;
};

/// Draws tokens; keeps memory for the probabilities of one row.
class Sampler {
 public:
  Sampler(uint32_t seed, float top_p, float filter, int64_t kept, bool custom)
      : random_(seed), top_p_(top_p), filter_(filter), kept_(kept), custom_(custom) {}

  /// Sets scores of tokens that are not to be drawn to the filter value, and draws one of the others.
  int32_t draw(std::span<float> scores, const Parallel& parallel) {
    sort(scores, parallel);
    if (custom_)
      filter_tail(scores);
    else
      filter_unlikely(scores);
    return pick(scores);
  }

 private:
  // Orders tokens by score: the least first, or with `custom` the greatest. Equal ones have no order; std::sort
  // decides.
  void sort(std::span<const float> scores, const Parallel& parallel) {
    order_.resize(scores.size());
    std::iota(order_.begin(), order_.end(), size_t(0));
    const auto key = [&](size_t i) { return std::isnan(scores[i]) ? std::numeric_limits<float>::lowest() : scores[i]; };
    std::sort(order_.begin(), order_.end(),
              [&](size_t a, size_t b) { return custom_ ? key(a) > key(b) : key(a) < key(b); });
    p_.resize(scores.size());
    for (size_t i = 0; i < p_.size(); ++i) p_[i] = scores[order_[i]];
    kernels::softmax({.outer = 1, .extent = p_.size(), .inner = 1, .x = p_.data(), .y = p_.data()}, parallel);
  }
  // Least likely tokens first, as long as their sum is small; at least `kept_` tokens stay, but the first may always
  // go.
  void filter_unlikely(std::span<float> scores) const {
    float sum = 0;
    for (size_t i = 0; i == 0 || i < p_.size() - size_t(kept_); ++i) {
      sum += p_[i];
      if (sum <= 1 - top_p_) scores[order_[i]] = filter_;
    }
  }
  // Most likely tokens first: those after the ones that reach top_p together.
  void filter_tail(std::span<float> scores) const {
    float sum = 0;
    for (size_t i = 0; i + 1 < p_.size(); ++i) {
      sum += p_[i];
      if (sum > top_p_) scores[order_[i + 1]] = filter_;
    }
  }
  int32_t pick(std::span<const float> scores) {
    float top = std::numeric_limits<float>::lowest();
    for (const float s : scores) {
      if (std::isfinite(s)) top = std::max(top, s);
    }
    sums_.resize(scores.size());
    double sum = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (std::isfinite(scores[i])) sum += std::exp(double(scores[i]) - double(top));
      sums_[i] = sum;
    }
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), random_.uniform() * sum);
    return int32_t(std::min<size_t>(size_t(found - sums_.begin()), scores.size() - 1));
  }

  Minimal random_;
  const float top_p_, filter_;
  const int64_t kept_;
  const bool custom_;
  std::vector<size_t> order_;
  std::vector<float> p_;
  std::vector<double> sums_;
};

struct Sampling : GreedyAttributes {
  int64_t custom = 0, kept = 0;
  float filter = -1e20f, presence_penalty = 0, temperature = 1, top_p = 0;
  static constexpr std::tuple attributes = std::tuple_cat(
      GreedyAttributes::attributes,
      std::tuple{attr("custom", &Sampling::custom), attr("filter_value", &Sampling::filter),
                 attr("min_tokens_to_keep", &Sampling::kept), attr("presence_penalty", &Sampling::presence_penalty),
                 attr("temperature", &Sampling::temperature), attr("top_p", &Sampling::top_p)});
  enum MoreInputs : size_t { kSeed = 8 };
  enum Output : size_t { kSequences, kFiltered };

  void infer(InferContext& c) const {
    GreedyAttributes::infer(c);
    c.set(kFiltered, DType::f32);
    if (c.node()) c.set(kFiltered, DType::f32, {c.shape(kTokens)[0], c.unknown_extent()});
  }
  void run(RunContext& c) const {
    const int64_t seed = SearchInputs(c).number(kSeed, "seed", 0);
    require(seed >= 0, ErrorCode::invalid_argument, "seed is {}, expected 0 or more", seed);
    Sampler sampler(uint32_t(seed), top_p, filter, kept, custom != 0);
    std::vector<float> filtered;
    GreedyRun search(c, *this);
    search.set_temperature(temperature);
    search.set_presence_penalty(presence_penalty);
    search.run([&](TokenScores& scores, std::span<int32_t> tokens) {
      require(kept >= 0 && kept < int64_t(scores.vocabulary()), ErrorCode::invalid_argument,
              "min_tokens_to_keep is {}, expected 0 to {}", kept, scores.vocabulary() - 1);
      for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = sampler.draw(scores.row(i), c.parallel());
      if (c.wants(kFiltered)) filtered.assign(scores.all().begin(), scores.all().end());
    });
    if (!c.wants(kFiltered)) return;
    const int64_t batch = c.shape(kTokens)[0], tokens = batch ? int64_t(filtered.size()) / batch : 0;
    auto* to = static_cast<float*>(c.allocate(kFiltered, DType::f32, {batch, tokens}));
    std::copy(filtered.begin(), filtered.end(), to);
  }
};

}  // namespace

extern const OpDef op_sampling;
constinit const OpDef op_sampling = define<Sampling>({
    .name = "Sampling",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input_ids: T", "max_length: T", "min_length: T?", "repetition_penalty: float?", "vocab_mask: T?",
               "prefix_vocab_mask: T?", "attention_mask: T?", "presence_mask: T?", "seed: T?"},
    .outputs = {"sequences: T", "filtered_logits: float?"},
    .types = types({DType::i32}),
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
