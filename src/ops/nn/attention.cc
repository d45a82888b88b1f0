// Attention: softmax(scale · Q · Kᵀ + mask) · V for [B, H, S, D] or [B, S, H·D], with grouped heads (fewer of K and V
// than of Q), a cache of past keys and values, causal and windowed masks. A query that sees no key gives zeros.
#include "ops/nn/common/attention.h"

#include "ops/expect_shape.h"

namespace retort::ops {
namespace {

struct Attention {
  bool is_causal = false;
  int64_t q_num_heads = 0, kv_num_heads = 0, left_window_size = -1, right_window_size = -1, qk_matmul_output_mode = 0,
          softmax_precision = 0;
  std::optional<float> scale;
  float softcap = 0;
  static constexpr std::tuple attributes{attr("is_causal", &Attention::is_causal),
                                         attr("kv_num_heads", &Attention::kv_num_heads),
                                         attr("left_window_size", &Attention::left_window_size),
                                         attr("q_num_heads", &Attention::q_num_heads),
                                         attr("qk_matmul_output_mode", &Attention::qk_matmul_output_mode),
                                         attr("right_window_size", &Attention::right_window_size),
                                         attr("scale", &Attention::scale),
                                         attr("softcap", &Attention::softcap),
                                         attr("softmax_precision", &Attention::softmax_precision)};
  enum Input : size_t { kQ, kK, kV, kMask, kPastK, kPastV, kValid };
  enum Output : size_t { kY, kPresentK, kPresentV, kScores };

  void check() const {
    require(q_num_heads >= 0 && kv_num_heads >= 0 && left_window_size >= -1 && right_window_size >= -1,
            ErrorCode::invalid_argument, "negative attribute");
  }

  void infer(InferContext& c) const {
    for (size_t i : {kY, kPresentK, kScores}) c.set(i, c.dtype(kQ));
    c.set(kPresentV, c.dtype(kV));
    DimTable& d = c.dims();
    const Shape &q = c.shape(kQ), &k = c.shape(kK), &v = c.shape(kV);
    require(q.rank() == k.rank() && q.rank() == v.rank() && (q.rank() == 3 || q.rank() == 4),
            ErrorCode::invalid_argument, "Q, K and V have ranks {}, {}, {}", q.rank(), k.rank(), v.rank());
    const bool packed = q.rank() == 3;
    require(!packed || (q_num_heads > 0 && kv_num_heads > 0), ErrorCode::invalid_argument,
            "inputs of rank 3 need q_num_heads and kv_num_heads");
    const Dim q_heads = packed ? q_num_heads : q[1], kv_heads = packed ? kv_num_heads : k[1];
    if (is_known(q_heads) && is_known(kv_heads)) {
      require(kv_heads > 0 && q_heads % kv_heads == 0, ErrorCode::invalid_argument, "Q has {} heads, K {}", q_heads,
              kv_heads);
    }
    const auto size = [&](const Shape& s, Dim heads) { return packed ? d.div(s[2], heads) : s[3]; };
    const Dim v_size = size(v, kv_heads), rows = q[packed ? 1 : 2];
    c.set(kY, c.dtype(kQ), packed ? Shape{q[0], rows, d.mul(v_size, q_heads)} : Shape{q[0], q_heads, rows, v_size});
    Dim total = k[packed ? 1 : 2];
    if (c.has(kPastK)) {
      require(c.rank(kPastK) == 4, ErrorCode::invalid_argument,
              "input {} has rank {}, expected a past of [B, H, rows, size]", size_t(kPastK), c.rank(kPastK));
      total = d.add(total, c.shape(kPastK)[2]);
    }
    c.set(kPresentK, c.dtype(kQ), {q[0], kv_heads, total, size(k, kv_heads)});
    c.set(kPresentV, c.dtype(kV), {q[0], kv_heads, total, v_size});
    c.set(kScores, c.dtype(kQ), {q[0], q_heads, rows, total});
    require(c.has(kPastK) == c.has(kPastV), ErrorCode::invalid_argument,
            "past_key and past_value must be given together");
  }
  Cost cost(const CostContext& c) const {
    return attention_cost(c.count(kQ), c.out_count(), c.extent(kK, c.rank(kQ) == 3 ? 1 : 2) + c.extent(kPastK, 2));
  }

  AttentionShape shape(const RunContext& c) const {
    const Shape &q = c.shape(kQ), &k = c.shape(kK), &v = c.shape(kV);
    const bool packed = q.rank() == 3;
    AttentionShape s;
    s.batch = size_t(q[0]);
    s.q_heads = size_t(packed ? q_num_heads : q[1]);
    s.kv_heads = size_t(packed ? kv_num_heads : k[1]);
    s.q_len = size_t(q[packed ? 1 : 2]);
    s.new_len = size_t(k[packed ? 1 : 2]);
    s.head_size = packed ? size_t(q[2]) / s.q_heads : size_t(q[3]);
    s.v_head_size = packed ? size_t(v[2]) / s.kv_heads : size_t(v[3]);
    const auto lay = [&](size_t rows, size_t heads, size_t size) {
      return packed ? packed_heads(rows, heads, size) : split_heads(rows, heads, size);
    };
    s.q = lay(s.q_len, s.q_heads, s.head_size);
    s.k = lay(s.new_len, s.kv_heads, s.head_size);
    s.v = lay(s.new_len, s.kv_heads, s.v_head_size);
    s.y = lay(s.q_len, s.q_heads, s.v_head_size);
    if (c.has(kPastK)) s.past_len = size_t(c.shape(kPastK)[2]);
    s.rooms = cache_rooms(c, kPastK, kPastV, kPresentK, kPresentV);
    s.rounds = rounds_attention(c);
    check_shapes(c, s);
    return s;
  }

  static void check_shapes(const RunContext& c, const AttentionShape& s) {
    const auto expect = [&](size_t i, size_t elements) {
      if (c.has(i) && c.count(i) != elements)
        fail(ErrorCode::invalid_argument, "input {} has shape {}, which does not match", i, to_string(c.shape(i)));
    };
    expect(kQ, s.batch * s.q_heads * s.q_len * s.head_size);
    expect(kK, s.batch * s.kv_heads * s.new_len * s.head_size);
    expect(kV, s.batch * s.kv_heads * s.new_len * s.v_head_size);
    expect(kValid, s.batch);
    // Checks every extent, not only the number of elements: past rows may lie in a block with gaps between heads, whose
    // offsets follow from the shape.
    const auto expect_past = [&](size_t i, size_t size) {
      expect_shape(c, i, "", {int64_t(s.batch), int64_t(s.kv_heads), int64_t(s.past_len), int64_t(size)});
    };
    expect_past(kPastK, s.head_size);
    expect_past(kPastV, s.v_head_size);
  }

  ScoreRule rule(const RunContext& c, const AttentionShape& s) const {
    ScoreRule r;
    r.scale = scale ? double(*scale) : 1 / std::sqrt(double(std::max<size_t>(s.head_size, 1)));
    r.softcap = softcap;
    r.causal = is_causal;
    r.left = left_window_size;
    r.right = right_window_size;
    if (c.has(kMask)) (c.dtype(kMask) == DType::boolean ? r.flags : r.bias) = score_operand(c, kMask, s);
    r.valid = c.optional<int64_t>(kValid);
    return r;
  }

  template <typename T>
  AttentionData<T> data(const RunContext& c) const {
    const auto output = [&](size_t i) { return c.wants(i) ? c.output<T>(i).data() : nullptr; };
    return {.q = c.input<T>(kQ).data(),
            .k = c.input<T>(kK).data(),
            .v = c.input<T>(kV).data(),
            .past_k = c.optional<T>(kPastK),
            .past_v = c.optional<T>(kPastV),
            .y = output(kY),
            .present_k = output(kPresentK),
            .present_v = output(kPresentV),
            .scores = output(kScores),
            .scores_mode = qk_matmul_output_mode};
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const AttentionShape s = shape(c);
    attention_reference(s, data<T>(c), rule(c, s), c.parallel());
  }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return prepare_attention(c); }
  size_t scratch(const RunContext& c) const {
    if (c.dtype(kQ) != DType::f32 || c.wants(kScores)) return 0;
    return attention_scratch(shape(c), c.wants(kPresentK), c.wants(kPresentV), c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    if (c.wants(kScores)) return reference<float>(c);  // only for debugging
    const AttentionShape s = shape(c);
    attention_fast(s, data<float>(c), rule(c, s), c.scratch(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_attention;
constinit const OpDef op_attention = define<Attention>({
    .name = "Attention",
    .since = {23, 24, 25},
    .inputs = {"Q: T", "K: T", "V: T", "attn_mask: U?", "past_key: T?", "past_value: T?", "nonpad_kv_seqlen: int64?"},
    .outputs = {"Y: T", "present_key: T?", "present_value: T?", "qk_matmul_output: T?"},
    .types = kFloats,
    .appends = {{{1, 4}, {2, 5}}},
});

}  // namespace retort::ops
