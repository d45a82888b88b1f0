// GroupQueryAttention: causal attention of language models. Q, K and V are separate or packed together. The new keys,
// rotated by their position if requested, are appended to a cache; each row of the batch may have filled it to a
// different length.
#include "base/checked.h"
#include "ops/nn/common/grouped_heads.h"

namespace retort::ops {
namespace {

struct GroupQueryAttention {
  int64_t num_heads = 0, kv_num_heads = 0, local_window_size = -1, qk_output = 0, cache_bits = 0;
  bool do_rotary = false, rotary_interleaved = false, smooth_softmax = false, causal = true, sliding_cache = false;
  float scale = 0, softcap = 0, norm_epsilon = 1e-6f;
  std::string k_quant_type = "NONE", v_quant_type = "NONE";
  using Self = GroupQueryAttention;
  static constexpr std::tuple attributes{attr("causal", &Self::causal),
                                         attr("do_rotary", &Self::do_rotary),
                                         attr("k_quant_type", &Self::k_quant_type),
                                         attr("kv_cache_bit_width", &Self::cache_bits),
                                         required("kv_num_heads", &Self::kv_num_heads),
                                         attr("local_window_size", &Self::local_window_size),
                                         required("num_heads", &Self::num_heads),
                                         attr("qk_norm_epsilon", &Self::norm_epsilon),
                                         attr("qk_output", &Self::qk_output),
                                         attr("rotary_interleaved", &Self::rotary_interleaved),
                                         attr("scale", &Self::scale),
                                         attr("sliding_window_cache", &Self::sliding_cache),
                                         attr("smooth_softmax", &Self::smooth_softmax),
                                         attr("softcap", &Self::softcap),
                                         attr("v_quant_type", &Self::v_quant_type)};
  enum Input : size_t { kQ, kK, kV, kPastK, kPastV, kLast, kTotal, kCos, kSin, kPositions, kBias, kSinks, kKScale };
  enum Output : size_t { kY, kPresentK, kPresentV, kScores };

  void check() const {
    require(num_heads > 0 && kv_num_heads > 0 && num_heads % kv_num_heads == 0, ErrorCode::invalid_argument,
            "num_heads {} is not a multiple of kv_num_heads {}", num_heads, kv_num_heads);
    require(local_window_size == -1 || (local_window_size > 0 && causal), ErrorCode::invalid_argument,
            "local_window_size is {}, with causal {}", local_window_size, int(causal));
    require(qk_output >= 0 && qk_output <= 2, ErrorCode::invalid_argument, "qk_output is {}", qk_output);
    require(k_quant_type == "NONE" && v_quant_type == "NONE" && !sliding_cache, ErrorCode::not_implemented,
            "quantised caches and sliding_window_cache are not supported");
  }

  void infer(InferContext& c) const {
    for (const size_t i : {kY, kPresentK, kPresentV, kScores}) c.set(i, c.dtype(kQ));
    for (size_t i = kKScale; i < kKScale + 4; ++i)
      require(!c.has(i), ErrorCode::not_implemented, "input {} (scales of a cache, norms of Q and K) is not supported",
              i);
    require(c.has(kK) == c.has(kV) && c.has(kPastK) == c.has(kPastV), ErrorCode::invalid_argument,
            "keys need values: key {}, value {}, past_key {}, past_value {}", c.has(kK), c.has(kV), c.has(kPastK),
            c.has(kPastV));
    require(!do_rotary || (c.has(kCos) && c.has(kSin)), ErrorCode::invalid_argument,
            "do_rotary needs cos_cache and sin_cache");
    DimTable& d = c.dims();
    const Shape& q = c.shape(kQ);
    require(q.rank() == 3, ErrorCode::invalid_argument, "query has shape {}, expected [batch, rows, hidden]",
            d.text(q));
    const int64_t parts = c.has(kK) ? num_heads : num_heads + 2 * kv_num_heads;
    require(!is_known(q[2]) || q[2] % parts == 0, ErrorCode::invalid_argument, "query has {} elements for {} heads",
            d.text(q[2]), parts);
    const Dim size = d.div(q[2], parts);
    c.set(kY, c.dtype(kQ), {q[0], q[1], d.mul(size, num_heads)});
    const auto total = c.try_value(kTotal);
    require(!total || total->size() == 1, ErrorCode::invalid_argument, "total_sequence_length is not a single number");
    const Dim past = c.has(kPastK) ? past_rows(c) : 0, last = total ? (*total)[0] : c.unknown_extent();
    const Shape present{q[0], kv_num_heads, d.max(past, last), size};
    c.set(kPresentK, c.dtype(kQ), present);
    c.set(kPresentV, c.dtype(kQ), present);
    c.set(kScores, c.dtype(kQ), {q[0], num_heads, q[1], last});
  }
  Cost cost(const CostContext& c) const {
    return attention_cost(c.out_count(), c.out_count(), c.extent(kQ, 1) + c.extent(kPastK, 2));
  }
  static Dim past_rows(const InferContext& c) {
    require(c.rank(kPastK) == 4, ErrorCode::invalid_argument, "past_key has shape {}, expected 4 axes",
            c.dims().text(c.shape(kPastK)));
    return c.shape(kPastK)[2];
  }

  using Extents = GroupedHeads;
  Extents extents(const RunContext& c) const {
    const Shape& q = c.shape(kQ);
    const auto heads = size_t(num_heads), kv = size_t(kv_num_heads), parts = c.has(kK) ? heads : heads + 2 * kv;
    return {.batch = size_t(q[0]),
            .rows = size_t(q[1]),
            .heads = heads,
            .kv_heads = kv,
            .size = size_t(q[2]) / parts,
            .past = c.has(kPastK) ? size_t(c.shape(kPastK)[2]) : 0,
            .capacity = size_t(c.out_shape(kPresentK)[2]),
            .parts = parts};
  }
  void check_inputs(const RunContext& c, const Extents& e) const {
    const auto expect = [&](size_t i, std::string_view name, Shape wanted) {
      if (c.has(i) && c.shape(i) != wanted)
        fail(ErrorCode::invalid_argument, "{} has shape {}, expected {}", name, to_string(c.shape(i)),
             to_string(wanted));
    };
    const auto b = int64_t(e.batch), size = int64_t(e.size), rows = int64_t(e.rows);
    expect(kK, "key", {b, rows, kv_num_heads * size});
    expect(kV, "value", {b, rows, kv_num_heads * size});
    expect(kPastK, "past_key", {b, kv_num_heads, int64_t(e.past), size});
    expect(kPastV, "past_value", {b, kv_num_heads, int64_t(e.past), size});
    expect(kPositions, "position_ids", {b, rows});
    expect(kSinks, "head_sink", {num_heads});
    require(c.count(kLast) == e.batch, ErrorCode::invalid_argument, "seqlens_k has {} entries for a batch of {}",
            c.count(kLast), e.batch);
    require(c.count(kTotal) == 1, ErrorCode::invalid_argument, "total_sequence_length is not a single number");
  }

  /// For one row of the batch: number of keys before this run and after it.
  struct Span {
    size_t before, total;
  };
  Span span_of(const RunContext& c, const Extents& e, size_t b) const {
    const int64_t longest = c.input<int32_t>(kTotal)[0], total = int64_t(c.input<int32_t>(kLast)[b]) + 1;
    const bool prompt = longest == int64_t(e.rows);
    const int64_t before = prompt ? 0 : total - int64_t(e.rows);
    require(total >= 1 && total <= longest && before >= 0 && before <= int64_t(e.past), ErrorCode::invalid_argument,
            "seqlens_k[{}] is {}, with {} new rows, {} past ones and total_sequence_length {}", b, total - 1, e.rows,
            e.past, longest);
    return {size_t(before), size_t(total)};
  }

  size_t position(const RunContext& c, const Extents& e, const Span& span, size_t b, size_t s, size_t rows) const {
    const bool filling = s >= span.total;  // padding after a shorter prompt: any position will do
    const int64_t p = filling             ? 0
                      : c.has(kPositions) ? c.input<int64_t>(kPositions)[b * e.rows + s]
                                          : int64_t(span.before + s);
    require(p >= 0 && size_t(p) < rows, ErrorCode::invalid_argument, "position {} is outside of [0, {})", p, rows);
    return size_t(p);
  }

  /// The tensors and tables of one run.
  template <typename T>
  struct Work {
    std::span<Span> spans;        // [batch]
    std::span<size_t> positions;  // [batch, rows], if Q and K are rotated
    T* turned;                    // Q rotated, [batch, rows, heads, size]
    std::byte* rest;

    static size_t bytes(const Extents& e) {
      return round_up(e.batch * sizeof(Span), 64) + round_up(e.batch * e.rows * sizeof(size_t), 64) +
             round_up(e.batch * e.rows * e.heads * e.size * sizeof(T), 64);
    }
    Work(const Extents& e, bool rotary, void* memory) {
      auto* at = static_cast<std::byte*>(memory);
      const auto take = [&](size_t bytes) { return std::exchange(at, at + round_up(bytes, 64)); };
      spans = {reinterpret_cast<Span*>(take(e.batch * sizeof(Span))), e.batch};
      positions = {reinterpret_cast<size_t*>(take(e.batch * e.rows * sizeof(size_t))), rotary ? e.batch * e.rows : 0};
      turned = reinterpret_cast<T*>(take(e.batch * e.rows * e.heads * e.size * sizeof(T)));
      rest = at;
    }
  };

  // Appends the new rows to the caches and rotates Q.
  template <typename T>
  void gather(const RunContext& c, const Extents& e, const Work<T>& work) const {
    const std::span<const Span> spans = work.spans;
    Rotation<T> rotation;
    if (do_rotary) rotation = rotation_of<T>(c, kCos, kSin, e.size, rotary_interleaved);
    for (size_t i = 0; i < work.positions.size(); ++i)
      work.positions[i] = position(c, e, spans[i / e.rows], i / e.rows, i % e.rows, rotation.positions);
    for (const auto& [past, present] : {std::pair(kPastK, kPresentK), std::pair(kPastV, kPresentV)})
      keep_past<T>(c, e, spans, past, present);
    const GroupedRows<T> rows{.q = c.input<T>(kQ).data(),
                              .k = c.optional<T>(kK),
                              .v = c.optional<T>(kV),
                              .turned = work.turned,
                              .cache_k = c.output<T>(kPresentK).data(),
                              .cache_v = c.output<T>(kPresentV).data(),
                              .rotation = do_rotary ? &rotation : nullptr,
                              .positions = work.positions};
    append_rows(
        e, rows, [&](size_t b) { return spans[b].before; }, c.parallel());
  }
  template <typename T>
  static void keep_past(const RunContext& c, const Extents& e, std::span<const Span> spans, size_t past,
                        size_t present) {
    const T* from = c.optional<T>(past);
    T* to = c.output<T>(present).data();
    if (from == to) return;
    c.parallel().for_each(e.batch * e.kv_heads, [&](size_t task, int) {
      const Span& span = spans[task / e.kv_heads];
      T* head = to + task * e.capacity * e.size;
      if (span.before > 0) std::copy_n(from + task * e.past * e.size, span.before * e.size, head);
      const size_t end = span.before + e.rows;
      std::fill(head + end * e.size, head + e.capacity * e.size, T(0));
    });
  }

  ScoreRule rule(const RunContext& c, const Extents& e) const {
    ScoreRule r;
    r.scale = scale != 0 ? double(scale) : 1 / std::sqrt(double(std::max<size_t>(e.size, 1)));
    r.softcap = softcap;
    r.causal = causal;
    r.left = local_window_size < 0 ? -1 : local_window_size - 1;
    r.sink = smooth_softmax || c.has(kSinks);
    r.sinks = c.optional<float>(kSinks);
    AttentionShape all;  // the shape that the bias broadcasts to
    all.batch = e.batch;
    all.q_heads = e.heads;
    all.q_len = e.rows;
    all.new_len = size_t(c.input<int32_t>(kTotal)[0]);
    r.bias = score_operand(c, kBias, all);
    return r;
  }

  AttentionShape shape(const Extents& e, size_t keys) const {
    AttentionShape s;
    s.batch = 1;
    s.q_heads = e.heads;
    s.kv_heads = e.kv_heads;
    s.q_len = e.rows;
    s.new_len = keys;
    s.head_size = s.v_head_size = e.size;
    s.q = s.y = e.input(e.heads);
    s.k = s.v = e.cache();
    return s;
  }

  // Calls attend(shape, tensors, rule) for each row of the batch, which sees its own part of the cache.
  template <typename T, typename F>
  void compute(const RunContext& c, const Extents& e, const Work<T>& work, const F& attend) const {
    check_inputs(c, e);
    for (size_t b = 0; b < e.batch; ++b) work.spans[b] = span_of(c, e, b);
    gather(c, e, work);
    ScoreRule r = rule(c, e);
    const ScoreOperand bias = r.bias;
    for (size_t b = 0; b < e.batch && !c.parallel().cancelled(); ++b) {
      const Span& span = work.spans[b];
      const AttentionShape s = shape(e, span.total);
      const auto keys = int64_t(span.total);
      r.valid = span.before + e.rows == span.total ? &keys : nullptr;  // otherwise a prompt that starts at row 0
      if (bias.data)
        r.bias.data = static_cast<const std::byte*>(bias.data) + b * bias.strides[0] * dtype_bytes(bias.dtype, 1);
      AttentionData<T> d;
      d.q = work.turned + s.q.at(b, 0, 0);
      d.k = c.output<T>(kPresentK).data() + s.k.at(b, 0, 0);
      d.v = c.output<T>(kPresentV).data() + s.v.at(b, 0, 0);
      d.y = c.output<T>(kY).data() + s.y.at(b, 0, 0);
      attend(b, s, d, r);
    }
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const Extents e = extents(c);
    std::vector<std::byte> memory(Work<T>::bytes(e));
    const Work<T> work(e, do_rotary, memory.data());
    compute<T>(c, e, work, [&](size_t b, const AttentionShape& s, AttentionData<T>& d, const ScoreRule& r) {
      std::vector<T> scores(c.wants(kScores) ? s.q_heads * s.q_len * s.total() : 0);
      if (c.wants(kScores)) d.scores = scores.data();
      d.scores_mode = qk_output == 1 ? 2 : 3;
      attention_reference(s, d, r, c.parallel());
      if (c.wants(kScores)) keep_scores(c, e, b, s, scores);
    });
  }
  static void keep_scores(const RunContext& c, const Extents& e, size_t b, const AttentionShape& s,
                          const std::vector<float>& scores) {
    const auto longest = size_t(c.out_shape(kScores)[3]), rows = e.heads * e.rows;
    float* to = c.output<float>(kScores).data() + b * rows * longest;
    std::fill_n(to, rows * longest, 0.0f);
    for (size_t i = 0; i < rows; ++i) {  // hidden keys count as 0, also before the softmax
      std::replace_copy_if(
          scores.data() + i * s.total(), scores.data() + (i + 1) * s.total(), to + i * longest,
          [](float x) { return x == -std::numeric_limits<float>::infinity(); }, 0.0f);
    }
  }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(kQ) != DType::f32 || c.wants(kScores)) return 0;
    const Extents e = extents(c);
    return Work<float>::bytes(e) + attention_scratch(shape(e, e.capacity), false, false, c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    if (c.wants(kScores)) return reference<float>(c);  // only for debugging
    const Extents e = extents(c);
    const Work<float> work(e, do_rotary, c.scratch());
    compute<float>(c, e, work, [&](size_t, const AttentionShape& s, const AttentionData<float>& d, const ScoreRule& r) {
      attention_fast(s, d, r, work.rest, c.parallel());
    });
  }
};

}  // namespace

extern const OpDef op_group_query_attention;
constinit const OpDef op_group_query_attention = define<GroupQueryAttention>({
    .name = "GroupQueryAttention",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"query: T", "key: T?", "value: T?", "past_key: T?", "past_value: T?", "seqlens_k: int32",
               "total_sequence_length: int32", "cos_cache: T?", "sin_cache: T?", "position_ids: int64?",
               "attention_bias: T?", "head_sink: T?", "k_scale: float?", "v_scale: float?", "q_norm_weight: T?",
               "k_norm_weight: T?"},
    .outputs = {"output: T", "present_key: T", "present_value: T", "output_qk: T?"},
    .types = types({DType::f32, DType::f16, DType::bf16}),
    .in_place = {{{1, 3, false}, {2, 4, false}}},  // rows after the new ones are unchanged
});

}  // namespace retort::ops
