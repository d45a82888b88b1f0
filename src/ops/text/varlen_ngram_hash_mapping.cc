// com.microsoft.VarlenNGramHashMapping: NGramHashMapping of several sequences that lie one after the other. Each has
// its own history of ids and segments. On request, the histories after each of the first ids of a sequence are returned
// as well.
#include "ops/text/common/ngram_hash.h"

namespace retort::ops {
namespace {

struct VarlenNGramHashMapping : NGramAttributes {
  int64_t capacity = 0;
  static constexpr auto attributes =
      std::tuple_cat(ngram_attributes, std::tuple{attr("state_update_capacity", &VarlenNGramHashMapping::capacity)});
  enum Input : size_t { kIds, kMultipliers, kSizes, kEnds, kPast, kOffsets, kEos, kSegments, kPastSegments, kCaptures };
  enum Output : size_t { kHashes, kPresent, kPresentSegments, kUpdate };

  void check() const {
    NGramAttributes::check();
    require(capacity >= 0 && capacity <= 8, ErrorCode::invalid_argument,
            "state_update_capacity is {}, 0 to 8 are there", capacity);
  }
  void infer(InferContext& c) const {
    for (size_t i : {kHashes, kPresent, kUpdate}) c.set(i, c.dtype(kIds));
    c.set(kPresentSegments, DType::i32);
    require(c.has(kCaptures) == (capacity > 0), ErrorCode::invalid_argument,
            "state_update_capacity is {}, and capture_count is {}", capacity, c.has(kCaptures) ? "given" : "missing");
    require(c.has(kSegments) || (!c.has(kPastSegments) && !c.wants(kPresentSegments)), ErrorCode::invalid_argument,
            "past_segment_ids and present_segment_ids need segment_ids");
    const Shape ids = c.shape(kIds), ends = c.shape(kEnds);
    require(ids.rank() == 1 && ends.rank() == 1 && (!is_known(ends[0]) || ends[0] >= 2), ErrorCode::invalid_argument,
            "input_ids and cumulative_sequence_length of shapes {} and {}, expected [tokens] and [2 or more]",
            c.dims().text(ids), c.dims().text(ends));
    const Dim batch = c.dims().sub(ends[0], 1);
    infer_weights(c, kMultipliers, kSizes);
    expect_shape_if_given(c, kPast, "", {batch, history()});
    expect_shape_if_given(c, kOffsets, "", {width()});
    expect_shape_if_given(c, kEos, "", {});
    expect_shape_if_given(c, kSegments, "", ids);
    expect_shape_if_given(c, kPastSegments, "", {batch, history()});
    expect_shape_if_given(c, kCaptures, "", {batch});
    c.set(kHashes, c.dtype(kIds), {ids[0], width()});
    c.set(kPresent, c.dtype(kIds), {batch, history()});
    c.set(kPresentSegments, DType::i32, {batch, history()});
    c.set(kUpdate, c.dtype(kIds), {batch, capacity, history()});
  }

  void run(RunContext& c) const {
    const auto ends = c.input<int32_t>(kEnds);
    const auto tokens = int64_t(c.count(kIds));
    bool good = ends.front() == 0 && ends.back() == tokens;
    for (size_t i = 1; i < ends.size(); ++i) good = good && ends[i - 1] < ends[i];
    require(good, ErrorCode::invalid_argument,
            "cumulative_sequence_length does not rise from 0 to {}, the number of ids, with one id or more each",
            tokens);
    c.dtype(kIds) == DType::i32 ? hash<int32_t>(c) : hash<int64_t>(c);
  }

 private:
  template <typename M>
  NGramSequence<M> sequence(const RunContext& c, size_t b, M missing) const {
    const auto ends = c.input<int32_t>(kEnds);
    const int64_t before = int64_t(b) * history();
    const auto part = [](const auto* data, int64_t at) { return data ? data + at : nullptr; };
    return {.past = part(c.optional<M>(kPast), before),
            .ids = part(c.optional<M>(kIds), ends[b]),
            .past_segments = part(c.optional<int32_t>(kPastSegments), before),
            .segments = part(c.optional<int32_t>(kSegments), ends[b]),
            .history = history(),
            .length = ends[b + 1] - ends[b],
            .missing = missing,
            .resets = reset != 0 && c.has(kEos)};
  }

  template <typename M>
  void hash(RunContext& c) const {
    const auto hashes =
        NGramHash<M>::of(*this, c.input<M>(kMultipliers).data(), c.input<M>(kSizes).data(), c.optional<M>(kOffsets));
    const M pad = ngram_pad<M>(*this), missing = c.has(kEos) ? c.input<M>(kEos)[0] : pad;
    c.parallel().for_each(c.count(kEnds) - 1, [&](size_t b, int) {
      const NGramSequence<M> s = sequence<M>(c, b, missing);
      const int64_t before = int64_t(b) * history();
      hashes.write(s, c.output<M>(kHashes).data() + c.input<int32_t>(kEnds)[b] * width());
      if (c.wants(kPresent)) s.write_history(s.length, c.output<M>(kPresent).data() + before);
      for (int64_t i = 0; c.wants(kPresentSegments) && i < history(); ++i)
        c.output<int32_t>(kPresentSegments)[size_t(before + i)] = s.segment(s.length + i);
      if (c.wants(kUpdate) && capacity > 0) capture(c, b, s, pad);
    });
  }

  template <typename M>
  void capture(RunContext& c, size_t b, const NGramSequence<M>& s, M pad) const {
    M* to = c.output<M>(kUpdate).data() + int64_t(b) * capacity * history();
    const int64_t count = std::min<int64_t>({c.input<int32_t>(kCaptures)[b], s.length, capacity});
    std::fill_n(to, capacity * history(), pad);
    for (int64_t i = 0; i < count; ++i) s.write_history(i + 1, to + i * history());
  }
};

}  // namespace

extern const OpDef op_varlen_ngram_hash_mapping;
constinit const OpDef op_varlen_ngram_hash_mapping = define<VarlenNGramHashMapping>({
    .name = "VarlenNGramHashMapping",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input_ids: T", "multipliers: T", "vocab_sizes: T", "cumulative_sequence_length: int32", "past_ids: T?",
               "head_offsets: T?", "eos_token_id: T?", "segment_ids: int32?", "past_segment_ids: int32?",
               "capture_count: int32?"},
    .outputs = {"hash_ids: T", "present_ids: T?", "present_segment_ids: int32?", "state_update: T?"},
    .types = types({DType::i32, DType::i64}),
});

}  // namespace retort::ops
