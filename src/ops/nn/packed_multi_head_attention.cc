// com.microsoft.PackedMultiHeadAttention: attention within each of several sequences, whose tokens lie one after the
// other, without padding. Keys that padding would add do not exist here, so mask_filter_value has no effect. Token j of
// sequence b has the offset b · S + j, as padding follows the tokens.
#include "base/checked.h"
#include "ops/nn/common/attention.h"

namespace retort::ops {
namespace {

struct PackedMultiHeadAttention {
  int64_t num_heads = 0;
  float mask_filter_value = -10000, scale = 0;
  static constexpr std::tuple attributes{attr("mask_filter_value", &PackedMultiHeadAttention::mask_filter_value),
                                         required("num_heads", &PackedMultiHeadAttention::num_heads),
                                         attr("scale", &PackedMultiHeadAttention::scale)};
  enum Input : size_t { kQ, kK, kV, kProjection, kOffsets, kStarts, kBias };

  void check() const {
    require(num_heads > 0, ErrorCode::invalid_argument, "num_heads is {}, expected a positive number", num_heads);
  }

  // Widths of the rows of Q and of V.
  std::pair<Dim, Dim> widths(InferContext& c) const {
    const Shape& q = c.shape(kQ);
    require(c.has(kK) == c.has(kV), ErrorCode::invalid_argument, "key is {}, value {}; give both or none",
            c.has(kK) ? "given" : "missing", c.has(kV) ? "given" : "missing");
    if (!c.has(kK)) {
      require(q.rank() == 4 && may_equal(q[1], num_heads) && may_equal(q[2], 3), ErrorCode::invalid_argument,
              "query has shape {}; without a key, expected [tokens,{},3,size]", c.dims().text(q), num_heads);
      const Dim hidden = c.dims().mul(num_heads, q[3]);
      return {hidden, hidden};
    }
    require(q.rank() == 2 && c.rank(kV) == 2, ErrorCode::invalid_argument,
            "query has shape {} and value {}, expected [tokens, hidden] with a key", c.dims().text(q),
            c.dims().text(c.shape(kV)));
    const Dim wide = c.shape(kV)[1];
    for (const Dim w : {q[1], wide}) {
      require(!is_known(w) || w % num_heads == 0, ErrorCode::invalid_argument, "rows of {} elements for {} heads", w,
              num_heads);
    }
    expect_shape(c, kK, "key", q);
    expect_shape(c, kV, "value", {q[0], wide});
    return {q[1], wide};
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(kQ));
    const auto [hidden, wide] = widths(c);
    c.set(0, c.dtype(kQ), {c.shape(kQ)[0], wide});
    if (c.has(kProjection)) {
      DimTable& d = c.dims();
      expect_shape(c, kProjection, "bias", {d.add(d.mul(hidden, 2), wide)});
    }
    const Shape &offsets = c.shape(kOffsets), &starts = c.shape(kStarts);
    require(offsets.rank() == 2 && starts.rank() == 1, ErrorCode::invalid_argument,
            "token_offset has shape {} and cumulative_sequence_length {}, expected [batch, length] and [batch + 1]",
            c.dims().text(offsets), c.dims().text(starts));
    expect_shape(c, kStarts, "cumulative_sequence_length", {c.dims().add(offsets[0], 1)});
    if (!c.has(kBias)) return;
    const Shape& bias = c.shape(kBias);
    require(bias.rank() == 4 && (may_equal(bias[0], 1) || may_equal(bias[0], offsets[0])) &&
                (may_equal(bias[1], 1) || may_equal(bias[1], num_heads)) && may_equal(bias[2], offsets[1]) &&
                may_equal(bias[3], offsets[1]),
            ErrorCode::invalid_argument, "attention_bias has shape {}, expected [{} or 1,{} or 1,{},{}]",
            c.dims().text(bias), c.dims().text(offsets[0]), num_heads, c.dims().text(offsets[1]),
            c.dims().text(offsets[1]));
  }
  /// As if all sequences were as long as the longest may be.
  Cost cost(const CostContext& c) const { return attention_cost(c.out_count(), c.out_count(), c.extent(kOffsets, 1)); }

  /// The extents of a run.
  struct Sizes {
    size_t tokens, length, size, v_size;  // `length`: the longest that a sequence may be
    bool rounds;
  };
  Sizes sizes(const RunContext& c) const {
    const Shape& q = c.shape(kQ);
    const auto heads = size_t(num_heads);
    const size_t size = c.has(kK) ? size_t(q[1]) / heads : size_t(q[3]);
    return {size_t(q[0]), size_t(c.shape(kOffsets)[1]), size, c.has(kV) ? size_t(c.shape(kV)[1]) / heads : size,
            rounds_attention(c)};
  }
  /// One sequence of `rows` tokens, each of whose tensors is packed.
  AttentionShape sequence(const Sizes& s, size_t rows) const {
    AttentionShape a;
    a.batch = 1;
    a.q_heads = a.kv_heads = size_t(num_heads);
    a.q_len = a.new_len = rows;
    a.head_size = s.size;
    a.v_head_size = s.v_size;
    a.rounds = s.rounds;
    a.q = a.k = packed_heads(rows, a.q_heads, s.size);
    a.v = a.y = packed_heads(rows, a.q_heads, s.v_size);
    return a;
  }

  /// The first row of each sequence, and the end of the last one.
  std::span<const int32_t> starts(const RunContext& c, const Sizes& s) const {
    const auto given = c.input<int32_t>(kStarts), offsets = c.input<int32_t>(kOffsets);
    const auto falls = size_t(std::is_sorted_until(given.begin(), given.end()) - given.begin());
    if (falls < given.size())
      fail(ErrorCode::invalid_argument, "cumulative_sequence_length {} is {}, after {}; it must not fall", falls,
           given[falls], given[falls - 1]);
    require(given.front() == 0 && size_t(given.back()) == s.tokens, ErrorCode::invalid_argument,
            "cumulative_sequence_length goes from {} to {}; it must rise from 0 to the number of tokens, {}",
            given.front(), given.back(), s.tokens);
    for (size_t b = 0; b + 1 < given.size(); ++b) {
      const auto first = size_t(given[b]), count = size_t(given[b + 1]) - first;
      require(count <= s.length, ErrorCode::invalid_argument,
              "sequence {} has {} tokens, but token_offset has rows of {}", b, count, s.length);
      for (size_t j = 0; j < count; ++j) {
        require(offsets[first + j] == int64_t(b * s.length + j), ErrorCode::invalid_argument,
                "token_offset {} is {}, expected {}, as padding follows the tokens of a sequence", first + j,
                offsets[first + j], b * s.length + j);
      }
    }
    for (size_t i = s.tokens; i < offsets.size(); ++i) {
      require(offsets[i] >= 0 && size_t(offsets[i]) < offsets.size(), ErrorCode::invalid_argument,
              "token_offset {} is {}, expected a number from 0 to {}", i, offsets[i], offsets.size() - 1);
    }
    return given;
  }

  /// Rows of Q, K or V: where the first one begins, and the distances of rows and heads.
  struct Rows {
    const float* data;
    HeadStrides at;
  };
  Rows rows(const RunContext& c, const Sizes& s, size_t i) const {
    if (c.has(kK)) {
      return {c.input<float>(i).data(), packed_heads(s.tokens, size_t(num_heads), i == kV ? s.v_size : s.size)};
    }
    return {c.input<float>(kQ).data() + i * s.size, {0, 3 * s.size, 3 * s.size * size_t(num_heads)}};
  }
  size_t projected_bytes(const RunContext& c, const Sizes& s) const {
    const size_t row = size_t(num_heads) * (2 * s.size + s.v_size);
    return c.has(kProjection) ? round_up(checked_mul(s.tokens, row * sizeof(float), "size of Q, K and V"), 64) : 0;
  }
  /// Writes the rows with their bias to `to`, and makes `from` these.
  void project(const RunContext& c, const Sizes& s, Rows (&from)[3], float* to) const {
    const float* bias = c.input<float>(kProjection).data();
    const auto heads = size_t(num_heads);
    for (const size_t i : {kQ, kK, kV}) {
      const size_t size = i == kV ? s.v_size : s.size;
      c.parallel().for_each(s.tokens, [&](size_t token, int) {
        for (size_t h = 0; h < heads; ++h) {
          const float *x = from[i].data + from[i].at.at(0, h, token), *b = bias + h * size;
          float* y = to + (token * heads + h) * size;
          for (size_t e = 0; e < size; ++e) y[e] = x[e] + b[e];
        }
      });
      from[i] = {to, packed_heads(s.tokens, heads, size)};
      to += s.tokens * heads * size;
      bias += heads * size;
    }
  }

  /// Whether each sequence is computed by one worker: there are enough of them, and none holds the others up.
  static bool is_by_sequence(std::span<const int32_t> first, size_t tokens, size_t workers) {
    size_t longest = 0;
    for (size_t b = 0; b + 1 < first.size(); ++b) longest = std::max(longest, size_t(first[b + 1] - first[b]));
    return workers > 1 && longest <= tokens / (2 * workers);
  }
  /// The memory for a sequence that one worker computes, of which is_by_sequence limits the length.
  size_t sequence_bytes(const Sizes& s, int workers) const {
    const size_t rows = std::min(s.length, s.tokens / (2 * size_t(workers)));
    return round_up(attention_scratch(sequence(s, rows), false, false, 1), 64);
  }

  /// Calls attend(shape, data, rule, rest of the memory, parallel) for each sequence.
  template <typename F>
  void compute(RunContext& c, std::byte* memory, const F& attend) const {
    const Sizes s = sizes(c);
    const auto first = starts(c, s);
    Rows from[3] = {rows(c, s, kQ), rows(c, s, kK), rows(c, s, kV)};
    if (c.has(kProjection)) project(c, s, from, reinterpret_cast<float*>(memory));
    AttentionShape all = sequence(s, s.length);
    all.batch = first.size() - 1;
    ScoreRule shared;
    shared.scale = scale != 0 ? double(scale) : 1 / std::sqrt(double(std::max<size_t>(s.size, 1)));
    shared.blind = std::numeric_limits<double>::quiet_NaN();
    shared.bias = score_operand(c, kBias, all);
    const auto one = [&](size_t b, std::byte* rest, const Parallel& parallel) {
      const auto at = size_t(first[b]), count = size_t(first[b + 1]) - at;
      AttentionShape a = sequence(s, count);
      a.q = from[kQ].at;
      a.k = from[kK].at;
      a.v = from[kV].at;
      AttentionData<float> d{
          .q = from[kQ].data + at * a.q.row, .k = from[kK].data + at * a.k.row, .v = from[kV].data + at * a.v.row};
      d.y = c.output<float>().data() + at * a.y.row;
      ScoreRule rule = shared;
      if (rule.bias.data) rule.bias.data = static_cast<const float*>(rule.bias.data) + rule.bias.at(b, 0, 0, 0);
      attend(a, d, rule, rest, parallel);
    };
    std::byte* const rest = memory + projected_bytes(c, s);
    const int workers = c.parallel().workers();
    if (is_by_sequence(first, s.tokens, size_t(workers))) {
      const size_t each = sequence_bytes(s, workers);
      c.parallel().for_each(all.batch, [&](size_t b, int worker) { one(b, rest + size_t(worker) * each, {}); });
    } else {
      for (size_t b = 0; b < all.batch; ++b) one(b, rest, c.parallel());
    }
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const { return prepare_attention(c); }
  size_t scratch(const RunContext& c) const {
    const Sizes s = sizes(c);
    const int workers = c.parallel().workers();
    const size_t together = attention_scratch(sequence(s, std::min(s.length, s.tokens)), false, false, workers);
    return projected_bytes(c, s) + std::max(together, size_t(workers) * sequence_bytes(s, workers));
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    std::vector<std::byte> memory(projected_bytes(c, sizes(c)));
    compute(c, memory.data(),
            [](const AttentionShape& a, const AttentionData<float>& d, const ScoreRule& rule, std::byte*,
               const Parallel& parallel) { attention_reference(a, d, rule, parallel); });
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    compute(c, static_cast<std::byte*>(c.scratch()),
            [](const AttentionShape& a, const AttentionData<float>& d, const ScoreRule& rule, std::byte* rest,
               const Parallel& parallel) { attention_fast(a, d, rule, rest, parallel); });
  }
};

}  // namespace

extern const OpDef op_packed_multi_head_attention;
constinit const OpDef op_packed_multi_head_attention = define<PackedMultiHeadAttention>({
    .name = "PackedMultiHeadAttention",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"query: T", "key: T?", "value: T?", "bias: T?", "token_offset: int32",
               "cumulative_sequence_length: int32", "attention_bias: T?"},
    .outputs = {"output: T"},
    .types = types({DType::f32, DType::f16}),
});

}  // namespace retort::ops
