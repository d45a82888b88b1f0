// com.microsoft.BifurcationDetector: speculative decoding whose guesses are copied from the source. Predicted tokens
// are accepted up to and including the first one that differs from the source after the last match. Then the last
// n-gram of the tokens is searched in the source. If it occurs exactly once, the position after it is the next match;
// otherwise -1.
#include <algorithm>
#include <optional>

#include "ops/op.h"

namespace retort::ops {
namespace {

struct BifurcationDetector {
  int64_t most = 3, least = 1;
  static constexpr std::tuple attributes{attr("max_ngram_size", &BifurcationDetector::most),
                                         attr("min_ngram_size", &BifurcationDetector::least)};
  enum Input : size_t { kSource, kTokens, kMatch, kPredicted };
  using Tokens = std::span<const int64_t>;

  void check() const {
    require(least > 0 && most >= least, ErrorCode::invalid_argument, "min_ngram_size {}, max_ngram_size {}", least,
            most);
  }
  void infer(InferContext& c) const {
    c.set(0, DType::i64);
    c.set(1, DType::i64);
    for (size_t i : {kSource, kTokens, kPredicted}) {
      if (c.has(i)) check_vector(i, c.shape(i), c.dims().text(c.shape(i)));
    }
    c.set(1, DType::i64, c.shape(kMatch));
    c.set(0, DType::i64, {c.has(kPredicted) ? c.unknown_extent() : c.shape(kTokens)[0]});
  }

  void run(RunContext& c) const {
    require(c.count(kMatch) == 1, ErrorCode::invalid_argument, "prev_suffix_match_idx of shape {}, expected one number",
            to_string(c.shape(kMatch)));
    for (size_t i : {kSource, kTokens, kPredicted}) {
      if (c.has(i)) check_vector(i, c.shape(i), to_string(c.shape(i)));
    }
    const Tokens source = c.input<int64_t>(kSource), before = c.input<int64_t>(kTokens);
    const Tokens taken = c.has(kPredicted) ? accepted(c, source) : Tokens{};
    const size_t count = before.size() + taken.size();
    auto* tokens = static_cast<int64_t*>(c.allocate(0, DType::i64, {int64_t(count)}));
    std::copy(taken.begin(), taken.end(), std::copy(before.begin(), before.end(), tokens));
    *static_cast<int64_t*>(c.allocate(1, DType::i64, c.shape(kMatch))) = match(source, {tokens, count});
  }

 private:
  static void check_vector(size_t i, const Shape& x, const std::string& text) {
    require(x.rank() == 1, ErrorCode::invalid_argument, "input {} has shape {}, expected a vector", i, text);
  }

  static Tokens accepted(const RunContext& c, Tokens source) {
    const int64_t from = c.input<int64_t>(kMatch)[0], length = int64_t(source.size());
    require(from >= 0 && from <= length, ErrorCode::invalid_argument,
            "prev_suffix_match_idx {} is outside of the source of {} tokens", from, length);
    const Tokens predicted = c.input<int64_t>(kPredicted), rest = source.subspan(size_t(from));
    require(predicted.size() == rest.size() + 1, ErrorCode::invalid_argument, "{} predicted tokens, expected {}",
            predicted.size(), rest.size() + 1);
    const auto same = std::mismatch(rest.begin(), rest.end(), predicted.begin()).first - rest.begin();
    return predicted.first(size_t(same) + 1);
  }

  int64_t match(Tokens source, Tokens tokens) const {
    int64_t place = -1;
    for (int64_t n = least; n <= most && n <= int64_t(tokens.size()); ++n) {
      const Tokens last = tokens.last(size_t(n));
      const auto first = std::search(source.begin(), source.end(), last.begin(), last.end());
      if (first == source.end()) break;
      place = first - source.begin() + n;
      if (place >= int64_t(source.size())) break;
      if (std::search(first + 1, source.end(), last.begin(), last.end()) != source.end()) place = -1;
    }
    return place;
  }
};

}  // namespace

extern const OpDef op_bifurcation_detector;
constinit const OpDef op_bifurcation_detector = define<BifurcationDetector>({
    .name = "BifurcationDetector",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"src_tokens: int64", "cur_tokens: int64", "prev_suffix_match_idx: int64", "pred_tokens: int64?"},
    .outputs = {"tokens: int64", "suffix_match_idx: int64"},
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
