// GroupQueryAttention: causal attention of language models. Q, K and V are separate or packed together. The new keys,
// normed and rotated by their position if requested, are appended to a cache; each row of the batch may have filled it
// to a different length. A cache has floats or codes, of all tokens or of those of a window.
#include "base/checked.h"
#include "kernels/elementwise/cast.h"
#include "ops/elementwise.h"
#include "ops/nn/common/grouped_query.h"
#include "ops/nn/common/rotary.h"
#include "ops/quant/common/float_scratch.h"

namespace retort::ops {
namespace {

struct GroupQueryAttention : GroupedQuery {
  static constexpr auto attributes = grouped_attributes;

  Cost cost(const CostContext& c) const {
    return attention_cost(c.out_count(), c.out_count(), c.extent(kQ, 1) + c.extent(kPastK, 2));
  }

  /// The tensors and working memory of one run.
  struct Call {
    GroupedHeads e;
    ScratchParts parts;
    std::span<KvEntry> entries;    // [batch]
    std::span<size_t> positions;   // [batch, rows], if Q and K are rotated
    const float *q, *k, *v;        // K and V lie behind Q if they are packed
    const float *q_norm, *k_norm;  // [size] or null
    const float* sinks;            // [heads] or null
    Rotation<float> rotation;
    bool own_tables = false;  // the rotation's rows are those of `positions`, not the positions themselves
    float *turned, *y;        // Q normed and rotated, and the result: [batch, rows, heads, size]
    float* rows;              // two rows of each worker
    KvCache keys, values;
    float *wide_keys, *wide_values;  // of one entry, if the caches are not float32
    std::byte* rest;
  };
  Call call(const RunContext& c, void* base) const {
    Call m{.e = extents(c), .parts = ScratchParts(base)};
    const GroupedHeads& e = m.e;
    check_inputs(c, e);
    const size_t tokens = checked_mul(e.batch, e.rows, "rows"), width = checked_mul(e.heads, e.size, "a row");
    m.entries = {m.parts.take<KvEntry>(e.batch), e.batch};
    m.positions = {m.parts.take<size_t>(do_rotary ? tokens : 0), do_rotary ? tokens : 0};
    m.q = float_input(c, kQ, m.parts);
    const auto behind = [](const float* x, size_t n) { return x ? x + n : nullptr; };  // without a base, there is none
    m.k = c.has(kK) ? float_input(c, kK, m.parts) : behind(m.q, e.heads * e.size);
    m.v = c.has(kV) ? float_input(c, kV, m.parts) : behind(m.k, e.kv_heads * e.size);
    m.q_norm = float_input(c, kQNorm, m.parts);
    m.k_norm = float_input(c, kKNorm, m.parts);
    m.sinks = float_input(c, kSinks, m.parts);
    if (do_rotary) set_rotation(c, m);
    m.turned = m.parts.take<float>(checked_mul(tokens, width, "queries"));
    m.y = float_output(c, m.parts);
    m.rows = m.parts.take<float>(2 * e.size * size_t(c.parallel().workers()));
    m.keys = cache(c, m, kPastK, kPresentK, kKScale, k_quant_type);
    m.values = cache(c, m, kPastV, kPresentV, kVScale, v_quant_type);
    const size_t wide = m.keys.form.dtype == DType::f32 ? 0 : checked_mul(e.kv_heads * e.work, e.size, "a cache");
    m.wide_keys = m.parts.take<float>(wide);
    m.wide_values = m.parts.take<float>(wide);
    m.rest = m.parts.take<std::byte>(0);
    return m;
  }
  void set_rotation(const RunContext& c, Call& m) const {
    const size_t half = rotated_half(c, kCos, kSin, m.e.size);
    m.own_tables = c.dtype(kCos) != DType::f32;
    const auto table = [&](size_t i) -> const float* {
      return m.own_tables ? m.parts.take<float>(m.positions.size() * half) : static_cast<const float*>(c.data(i));
    };
    m.rotation = {.cos = table(kCos),
                  .sin = table(kSin),
                  .positions = size_t(c.shape(kCos)[0]),
                  .half = half,
                  .size = m.e.size,
                  .interleaved = rotary_interleaved};
  }
  KvCache cache(const RunContext& c, Call& m, size_t past, size_t present, size_t scales,
                const std::string& type) const {
    KvCache cache;
    cache.form = {.dtype = c.has(past)        ? c.dtype(past)
                           : c.wants(present) ? c.out_dtype(present)
                                              : c.dtype(kQ),
                  .size = m.e.size};
    if (quantised()) {
      cache.form.scales = c.input<float>(scales).data();
      cache.form.per_channel = type == "PER_CHANNEL";
      const size_t wanted = cache.form.per_channel ? m.e.kv_heads * m.e.size : 1;
      require(c.count(scales) == wanted, ErrorCode::invalid_argument, "input {} has {} scales, expected {} for {}",
              scales, c.count(scales), wanted, type);
    }
    cache.heads = m.e.kv_heads;
    cache.past_rows = m.e.past;
    cache.rows = m.e.work;
    cache.present_rows = m.e.capacity;
    cache.past = c.optional<std::byte>(past);
    const size_t row = cache.form.row_bytes(), all = checked_mul(m.e.batch * m.e.kv_heads, m.e.capacity, "a cache");
    cache.present = c.wants(present) ? static_cast<std::byte*>(c.out_data(present))
                                     : m.parts.take<std::byte>(checked_mul(all, row, "a cache"));
    cache.work = !sliding_cache
                     ? cache.present
                     : m.parts.take<std::byte>(checked_mul(m.e.batch * m.e.kv_heads * m.e.work, row, "a cache"));
    return cache;
  }

  size_t position(const RunContext& c, const Call& m, size_t b, size_t s) const {
    const KvEntry& entry = m.entries[b];
    const bool filling = s >= entry.queries || entry.before + s >= entry.total;  // any position will do
    const int64_t p = filling             ? 0
                      : c.has(kPositions) ? c.input<int64_t>(kPositions)[b * m.e.rows + s]
                                          : int64_t(entry.before + s);
    require(p >= 0 && size_t(p) < m.rotation.positions, ErrorCode::invalid_argument,
            "position {} is outside of [0, {})", p, m.rotation.positions);
    return size_t(p);
  }
  // Tables of other types than float32 are converted for the positions of this run only.
  void place(const RunContext& c, const Call& m) const {
    for (size_t i = 0; i < m.positions.size(); ++i) {
      const size_t p = position(c, m, i / m.e.rows, i % m.e.rows), half = m.rotation.half;
      m.positions[i] = m.own_tables ? i : p;
      if (!m.own_tables) continue;
      const DType type = c.dtype(kCos);
      for (const auto& [input, to] : {std::pair(kCos, m.rotation.cos), std::pair(kSin, m.rotation.sin)}) {
        const auto* from = static_cast<const std::byte*>(c.data(input)) + p * half * dtype_bits(type) / 8;
        kernels::cast(from, type, const_cast<float*>(to) + i * half, DType::f32, half, {});
      }
    }
  }

  // Normed and rotated, as far as requested.
  void turn(const Call& m, size_t task, const float* from, const float* weight, float epsilon, float* to) const {
    if (weight) {
      double sum = 0;
      for (size_t i = 0; i < m.e.size; ++i) sum += double(from[i]) * double(from[i]);
      const auto factor = float(1 / std::sqrt(sum / double(m.e.size) + epsilon));
      float* normed = to + m.e.size;
      for (size_t i = 0; i < m.e.size; ++i) normed[i] = from[i] * factor * weight[i];
      from = normed;
    }
    if (do_rotary)
      m.rotation.apply(m.positions[task], from, to);
    else
      std::copy_n(from, m.e.size, to);
  }

  // Appends the new rows to the caches, and turns Q.
  void append(const RunContext& c, const Call& m) const {
    const GroupedHeads& e = m.e;
    place(c, m);
    m.keys.keep_past(m.entries, c.parallel());
    m.values.keep_past(m.entries, c.parallel());
    const HeadStrides of_q = e.input(e.parts), of_kv = c.has(kK) ? e.input(e.kv_heads) : of_q, of_y = e.input(e.heads);
    c.parallel().for_each(e.batch * e.rows, [&](size_t task, int worker) {
      const size_t b = task / e.rows, s = task % e.rows;
      const KvEntry& entry = m.entries[b];
      float* row = m.rows + 2 * e.size * size_t(worker);
      for (size_t h = 0; h < e.heads; ++h) {
        turn(m, task, m.q + of_q.at(b, h, s), m.q_norm, q_epsilon.value_or(norm_epsilon), row);
        std::copy_n(row, e.size, m.turned + of_y.at(b, h, s));
      }
      const size_t at = entry.before - entry.first + s;
      for (size_t h = 0; s < entry.fresh && h < e.kv_heads; ++h) {
        turn(m, task, m.k + of_kv.at(b, h, s), m.k_norm, k_epsilon.value_or(norm_epsilon), row);
        m.keys.form.encode(h, row, m.keys.row(b, h, at));
        m.values.form.encode(h, m.v + of_kv.at(b, h, s), m.values.row(b, h, at));
      }
    });
  }

  ScoreRule rule(const RunContext& c, const Call& m) const {
    const GroupedHeads& e = m.e;
    ScoreRule r;
    r.scale = scale != 0 ? double(scale) : 1 / std::sqrt(double(std::max<size_t>(e.size, 1)));
    r.softcap = softcap;
    r.causal = causal;
    r.left = local_window_size < 0 ? -1 : local_window_size - 1;
    r.sink = smooth_softmax == 1 || m.sinks;
    r.sinks = m.sinks;
    AttentionShape all;  // the shape that the bias broadcasts to
    all.batch = e.batch;
    all.q_heads = e.heads;
    all.q_len = e.rows;
    all.new_len = size_t(c.input<int32_t>(kTotal)[0]);
    r.bias = score_operand(c, kBias, all);
    return r;
  }
  // The bias of entry b, whose first working row holds token `first`.
  static ScoreOperand bias_of(ScoreOperand bias, size_t b, size_t first) {
    if (!bias.data) return bias;
    const size_t skipped = std::min(first, bias.columns), offset = b * bias.strides[0] + skipped * bias.strides[3];
    bias.data = static_cast<const std::byte*>(bias.data) + offset * dtype_bits(bias.dtype) / 8;
    if (bias.strides[3]) bias.columns -= skipped;
    return bias;
  }

  static AttentionShape shape(const RunContext& c, const GroupedHeads& e, size_t queries, size_t keys) {
    AttentionShape s;
    s.rounds = rounds_attention(c);
    s.batch = 1;
    s.q_heads = e.heads;
    s.kv_heads = e.kv_heads;
    s.q_len = queries;
    s.new_len = keys;
    s.head_size = s.v_head_size = e.size;
    s.q = s.y = e.input(e.heads);
    s.k = s.v = split_heads(e.work, e.kv_heads, e.size);
    return s;
  }

  // Calls attend(b, shape, tensors, rule) for each entry of the batch, which sees its own part of the cache.
  template <typename F>
  void compute(const RunContext& c, const Call& m, const F& attend) const {
    const GroupedHeads& e = m.e;
    for (size_t b = 0; b < e.batch; ++b) m.entries[b] = entry_of(c, e, b);
    append(c, m);
    ScoreRule r = rule(c, m);
    const ScoreOperand bias = r.bias;
    for (size_t b = 0; b < e.batch && !c.parallel().cancelled(); ++b) {
      const KvEntry& entry = m.entries[b];
      const AttentionShape s = shape(c, e, entry.queries, entry.rows());
      const auto keys = int64_t(entry.rows());
      r.valid = entry.before + entry.queries == entry.total ? &keys : nullptr;  // otherwise a prompt from row 0 on
      r.bias = bias_of(bias, b, entry.first);
      AttentionData<float> d;
      d.q = m.turned + s.q.at(b, 0, 0);
      d.k = m.keys.floats(b, entry.rows(), m.wide_keys, c.parallel());
      d.v = m.values.floats(b, entry.rows(), m.wide_values, c.parallel());
      d.y = m.y + s.y.at(b, 0, 0);
      attend(b, s, d, r);
      std::fill(d.y + s.y.at(0, 0, entry.queries), d.y + s.y.at(0, 0, e.rows), 0.0f);
    }
    if (sliding_cache) {
      m.keys.keep_window(m.entries, window(), c.parallel());
      m.values.keep_window(m.entries, window(), c.parallel());
    }
    store_result(c, m.y);
  }

  void with_reference(RunContext& c, const Call& m) const {
    compute(c, m, [&](size_t b, const AttentionShape& s, AttentionData<float>& d, const ScoreRule& r) {
      std::vector<float> scores(c.wants(kScores) ? s.q_heads * s.q_len * s.total() : 0);
      if (c.wants(kScores)) d.scores = scores.data();
      d.scores_mode = qk_output == 1 ? 2 : 3;
      attention_reference(s, d, r, c.parallel());
      if (c.wants(kScores)) keep_scores(c, m.e, b, s, scores);
    });
  }
  // Hidden keys count as 0, also before the softmax, and so do rows of padding.
  static void keep_scores(const RunContext& c, const GroupedHeads& e, size_t b, const AttentionShape& s,
                          const std::vector<float>& scores) {
    const auto longest = size_t(c.out_shape(kScores)[3]);
    const DType type = c.out_dtype(kScores);
    std::vector<float> all(e.heads * e.rows * longest, 0.0f);
    for (size_t i = 0; i < e.heads * s.q_len; ++i) {
      std::replace_copy_if(
          scores.data() + i * s.total(), scores.data() + (i + 1) * s.total(),
          all.data() + (i / s.q_len * e.rows + i % s.q_len) * longest,
          [](float x) { return x == -std::numeric_limits<float>::infinity(); }, 0.0f);
    }
    auto* to = static_cast<std::byte*>(c.out_data(kScores)) + b * all.size() * dtype_bits(type) / 8;
    kernels::cast(all.data(), DType::f32, to, type, all.size(), c.parallel());
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    std::vector<std::byte> memory(call(c, nullptr).parts.bytes());
    with_reference(c, call(c, memory.data()));
  }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return prepare_attention(c); }
  size_t scratch(const RunContext& c) const {
    const Call m = call(c, nullptr);
    const auto attention = [&](size_t queries) {
      return attention_scratch(shape(c, m.e, queries, m.e.work), false, false, c.parallel().workers());
    };
    // The form of the computation depends on the number of queries, which only a run knows.
    size_t most = attention(m.e.rows);
    for (size_t queries = 1; queries < std::min<size_t>(m.e.rows, 9); ++queries)
      most = std::max(most, attention(queries));
    return checked_add(m.parts.bytes(), most, "working memory");
  }
  template <OneOf<float, float16, bfloat16> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    const Call m = call(c, c.scratch());
    if (c.wants(kScores)) return with_reference(c, m);  // only for debugging
    compute(c, m, [&](size_t, const AttentionShape& s, const AttentionData<float>& d, const ScoreRule& r) {
      attention_fast(s, d, r, m.rest, c.parallel());
    });
  }
};

}  // namespace

extern const OpDef op_group_query_attention;
constinit const OpDef op_group_query_attention = define<GroupQueryAttention>({
    .name = "GroupQueryAttention",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"query: T", "key: T?", "value: T?", "past_key: C?", "past_value: C?", "seqlens_k: int32",
               "total_sequence_length: int32", "cos_cache: T?", "sin_cache: T?", "position_ids: int64?",
               "attention_bias: T?", "head_sink: T?", "k_scale: float32?", "v_scale: float32?", "q_norm_weight: T?",
               "k_norm_weight: T?", "query_seqlens: int32?"},
    .outputs = {"output: T", "present_key: C?", "present_value: C?", "output_qk: T?"},
    .types = types({DType::f32, DType::f16, DType::bf16}),
    .traits = kConverts,
    .in_place = {{{1, 3, false}, {2, 4, false}}},  // rows after the new ones are unchanged
});

}  // namespace retort::ops
