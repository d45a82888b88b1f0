// Hashes of the last n tokens at each position of a sequence, for n from 2 on; shared by NGramHashMapping and
// VarlenNGramHashMapping.
#pragma once
#include <limits>
#include <type_traits>

#include "base/checked.h"
#include "ops/op.h"

namespace retort::ops {

struct NGramAttributes {
  int64_t most = 0, heads = 0, pad = 0, reset = 0;
  static constexpr std::tuple ngram_attributes{
      required("max_ngram_size", &NGramAttributes::most), required("n_head_per_ngram", &NGramAttributes::heads),
      required("pad_id", &NGramAttributes::pad), attr("reset_on_eos", &NGramAttributes::reset)};

  void check() const {
    require(most >= 2 && heads >= 1, ErrorCode::invalid_argument,
            "max_ngram_size {} and n_head_per_ngram {}; 2 and 1 are the least", most, heads);
    checked_mul(history(), heads, "(max_ngram_size - 1) * n_head_per_ngram");
  }
  /// Number of tokens before the current one that its n-grams contain.
  int64_t history() const { return most - 1; }
  /// Number of hashes per token.
  int64_t width() const { return history() * heads; }

  void infer_weights(InferContext& c, size_t multipliers, size_t sizes) const {
    const Shape &m = c.shape(multipliers), &v = c.shape(sizes);
    require(m.rank() == 1 && (!is_known(m[0]) || m[0] >= most) && v.rank() == 1 && may_equal(v[0], width()),
            ErrorCode::invalid_argument,
            "multipliers of shape {} and vocab_sizes of shape {}, expected [{} or more] and [{}]", c.dims().text(m),
            c.dims().text(v), most, width());
  }
};

/// The ids of a sequence, preceded by its history. Positions count from the beginning of the history.
template <typename M>
struct NGramSequence {
  const M *past = nullptr, *ids = nullptr;  ///< [history] or null, [length]
  const int32_t *past_segments = nullptr, *segments = nullptr;
  int64_t history = 0, length = 0;
  M missing = 0;        ///< replaces ids before the first one, and before a boundary
  bool resets = false;  ///< after an id that is `missing`

  M at(int64_t place) const {
    if (place >= history) return ids[place - history];
    return past ? past[place] : missing;
  }
  /// Without segments for the history, it belongs to the first segment.
  int32_t segment(int64_t place) const {
    if (place >= history) return segments[place - history];
    return past_segments ? past_segments[place] : segments[0];
  }
  /// Whether the ids before `place` do not count for the ids from `place` on.
  bool begins(int64_t place) const {
    if (place == 0) return false;
    return (resets && at(place - 1) == missing) || (segments && segment(place) != segment(place - 1));
  }
  /// The history of a sequence that continues after the first `count` ids.
  void write_history(int64_t count, M* to) const {
    for (int64_t i = 0; i < history; ++i) to[i] = at(count + i);
  }
};

template <typename M>
struct NGramHash {
  int64_t most, heads;
  const M *multipliers, *sizes, *offsets;  ///< `offsets` may be null

  /// Reads `most` and `heads` from the attributes; throws if a size is not positive.
  static NGramHash of(const NGramAttributes& a, const M* multipliers, const M* sizes, const M* offsets) {
    for (int64_t i = 0; i < a.width(); ++i)
      require(sizes[i] > 0, ErrorCode::invalid_argument, "vocab_sizes[{}] is {}, expected more than 0", i, sizes[i]);
    return {a.most, a.heads, multipliers, sizes, offsets};
  }

  /// to[length, (most - 1) · heads]
  void write(const NGramSequence<M>& s, M* to) const {
    int64_t first = 0;  // position before which no ids count
    for (int64_t place = 0; place < s.history + s.length; ++place) {
      if (s.begins(place)) first = place;
      if (place < s.history) continue;
      Unsigned mix = 0;
      for (int64_t k = 0; k < most; ++k) {
        const M id = place - k < first ? s.missing : s.at(place - k);
        mix ^= Unsigned(id) * Unsigned(multipliers[k]);
        for (int64_t h = (k - 1) * heads; k > 0 && h < k * heads; ++h) to[h] = hash(M(mix), h);
      }
      to += (most - 1) * heads;
    }
  }

 private:
  using Unsigned = std::make_unsigned_t<M>;
  M hash(M mix, int64_t head) const {
    const M rest = M(mix % sizes[head]), positive = M(rest < 0 ? rest + sizes[head] : rest);
    return offsets ? M(Unsigned(positive) + Unsigned(offsets[head])) : positive;
  }
};

/// `pad` as an id. Throws if it is not an id.
template <typename M>
M ngram_pad(const NGramAttributes& a) {
  require(a.pad >= std::numeric_limits<M>::min() && a.pad <= std::numeric_limits<M>::max(), ErrorCode::invalid_argument,
          "pad_id {} is outside of the type of the ids", a.pad);
  return M(a.pad);
}

}  // namespace retort::ops
