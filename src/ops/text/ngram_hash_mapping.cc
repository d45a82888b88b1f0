// com.microsoft.NGramHashMapping: hashes of the last 2, 3, … ids at each position of a batch of sequences.
#include "ops/text/common/ngram_hash.h"

namespace retort::ops {
namespace {

struct NGramHashMapping : NGramAttributes {
  static constexpr auto attributes = ngram_attributes;
  enum Input : size_t { kIds, kMultipliers, kSizes, kPast, kOffsets, kEos, kSegments };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kIds));
    c.set(1, c.dtype(kIds));
    const Shape ids = c.shape(kIds);
    require(ids.rank() == 2, ErrorCode::invalid_argument, "input_ids has shape {}, expected a matrix",
            c.dims().text(ids));
    infer_weights(c, kMultipliers, kSizes);
    expect_shape_if_given(c, kPast, "", {ids[0], history()});
    expect_shape_if_given(c, kOffsets, "", {width()});
    expect_shape_if_given(c, kEos, "", {});
    expect_shape_if_given(c, kSegments, "", ids);
    c.set(0, c.dtype(kIds), {ids[0], ids[1], width()});
    c.set(1, c.dtype(kIds), {ids[0], history()});
  }

  void run(RunContext& c) const { c.dtype(kIds) == DType::i32 ? hash<int32_t>(c) : hash<int64_t>(c); }

 private:
  template <typename M>
  void hash(RunContext& c) const {
    const auto hashes =
        NGramHash<M>::of(*this, c.input<M>(kMultipliers).data(), c.input<M>(kSizes).data(), c.optional<M>(kOffsets));
    const M missing = c.has(kEos) ? c.input<M>(kEos)[0] : ngram_pad<M>(*this);
    const int64_t length = c.shape(kIds)[1];
    const auto row = [](const auto* data, size_t i, int64_t n) { return data ? data + int64_t(i) * n : nullptr; };
    c.parallel().for_each(size_t(c.shape(kIds)[0]), [&](size_t b, int) {
      const NGramSequence<M> s{.past = row(c.optional<M>(kPast), b, history()),
                               .ids = row(c.optional<M>(kIds), b, length),
                               .segments = row(c.optional<int32_t>(kSegments), b, length),
                               .history = history(),
                               .length = length,
                               .missing = missing,
                               .resets = reset != 0 && c.has(kEos)};
      if (length > 0) hashes.write(s, c.output<M>().data() + int64_t(b) * length * width());
      if (c.wants(1)) s.write_history(length, c.output<M>(1).data() + int64_t(b) * history());
    });
  }
};

}  // namespace

extern const OpDef op_ngram_hash_mapping;
constinit const OpDef op_ngram_hash_mapping = define<NGramHashMapping>({
    .name = "NGramHashMapping",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input_ids: T", "multipliers: T", "vocab_sizes: T", "past_ids: T?", "head_offsets: T?",
               "eos_token_id: T?", "segment_ids: int32?"},
    .outputs = {"hash_ids: T", "present_ids: T?"},
    .types = types({DType::i32, DType::i64}),
});

}  // namespace retort::ops
