// retort.Attention: attention that reads Q, K and V where an exporter's graph has them, without the reshapes and
// transposes in between. An operand is either split, [B, H, S, D], or lies in rows: [B, S, …], whose trailing axes hold
// all heads one after the other, starting with element `offset` (for example Q, K and V packed together). Scores are
// replaced by `hidden` where the flags say so, then the bias is added. A query whose scores are all -inf gives NaN as a
// plain Softmax does, or zeros with `blind_zero`. Past and present keys and values are split. With
// `bias_repeats`, the bias may have fewer batch items and repeats: the windows of several images share their masks.
#include "ops/nn/common/attention.h"

namespace retort::ops {
namespace {

struct StridedAttention {
  int64_t q_heads = 1, kv_heads = 1, head_size = 1, v_head_size = 1;
  int64_t q_offset = 0, k_offset = 0, v_offset = 0;
  bool q_split = false, k_split = false, v_split = false, y_split = false;
  bool flag_hides = false, blind_zero = false, bias_repeats = false;
  float scale = 1, hidden = -std::numeric_limits<float>::infinity();
  static constexpr std::tuple attributes{
      required("q_heads", &StridedAttention::q_heads),     required("kv_heads", &StridedAttention::kv_heads),
      required("head_size", &StridedAttention::head_size), required("v_head_size", &StridedAttention::v_head_size),
      attr("q_offset", &StridedAttention::q_offset),       attr("k_offset", &StridedAttention::k_offset),
      attr("v_offset", &StridedAttention::v_offset),       attr("q_split", &StridedAttention::q_split),
      attr("k_split", &StridedAttention::k_split),         attr("v_split", &StridedAttention::v_split),
      attr("y_split", &StridedAttention::y_split),         attr("flag_hides", &StridedAttention::flag_hides),
      attr("blind_zero", &StridedAttention::blind_zero),   attr("bias_repeats", &StridedAttention::bias_repeats),
      required("scale", &StridedAttention::scale),         attr("hidden", &StridedAttention::hidden)};
  enum Input : size_t { kQ, kK, kV, kBias, kFlags, kPastK, kPastV };
  enum Output : size_t { kY, kPresentK, kPresentV };

  void check() const {
    require(q_heads > 0 && kv_heads > 0 && q_heads % kv_heads == 0 && head_size > 0 && v_head_size > 0,
            ErrorCode::invalid_argument, "Q has {} heads, K {}", q_heads, kv_heads);
  }

  void infer(InferContext& c) const {
    for (size_t i : {kY, kPresentK, kPresentV}) c.set(i, c.dtype(kQ));
    const Shape &q = c.shape(kQ), &k = c.shape(kK);
    require(q.rank() >= 3 && k.rank() >= 3 && c.rank(kV) >= 3, ErrorCode::invalid_argument, "ranks {}, {}, {}",
            q.rank(), k.rank(), c.rank(kV));
    const Dim rows = q[q_split ? 2 : 1];
    c.set(kY, c.dtype(kQ), y_split ? Shape{q[0], q_heads, rows, v_head_size} : Shape{q[0], rows, q_heads, v_head_size});
    Dim total = k[k_split ? 2 : 1];
    if (c.has(kPastK)) total = c.dims().add(total, c.shape(kPastK)[2]);
    c.set(kPresentK, c.dtype(kQ), {k[0], kv_heads, total, head_size});
    c.set(kPresentV, c.dtype(kQ), {k[0], kv_heads, total, v_head_size});
  }
  Cost cost(const CostContext& c) const {
    return attention_cost(c.out_count() * double(head_size) / double(v_head_size), c.out_count(),
                          c.extent(kK, k_split ? 2 : 1) + c.extent(kPastK, 2));
  }

  struct Operand {
    size_t rows;
    HeadStrides strides;
  };
  // Describes the heads of input i; checks that all of them are inside the tensor.
  static Operand operand(const RunContext& c, size_t i, bool split, int64_t offset, int64_t heads, int64_t size) {
    const Shape& s = c.shape(i);
    const int64_t width = split ? heads * size : extent_product(s, 2, s.rank());
    const bool fits = split ? s.rank() == 4 && s[1] == heads && s[3] == size && offset == 0
                            : offset >= 0 && offset + heads * size <= width;
    if (!fits) fail(ErrorCode::invalid_argument, "input {} of shape {} does not hold {} heads", i, to_string(s), heads);
    const size_t rows = size_t(s[split ? 2 : 1]), w = size_t(width);
    return {rows, split ? split_heads(rows, size_t(heads), size_t(size)) : HeadStrides{rows * w, size_t(size), w}};
  }

  AttentionShape shape(const RunContext& c) const {
    const Operand q = operand(c, kQ, q_split, q_offset, q_heads, head_size);
    const Operand k = operand(c, kK, k_split, k_offset, kv_heads, head_size);
    const Operand v = operand(c, kV, v_split, v_offset, kv_heads, v_head_size);
    AttentionShape s;
    s.batch = size_t(c.shape(kQ)[0]);
    s.q_heads = size_t(q_heads);
    s.kv_heads = size_t(kv_heads);
    s.q_len = q.rows;
    s.new_len = k.rows;
    s.head_size = size_t(head_size);
    s.v_head_size = size_t(v_head_size);
    s.q = q.strides;
    s.k = k.strides;
    s.v = v.strides;
    s.y = y_split ? split_heads(s.q_len, s.q_heads, s.v_head_size) : packed_heads(s.q_len, s.q_heads, s.v_head_size);
    if (c.has(kPastK)) s.past_len = size_t(c.shape(kPastK)[2]);
    s.rooms = cache_rooms(c, kPastK, kPastV, kPresentK, kPresentV);
    s.rounds = rounds_attention(c);
    require(k.rows == v.rows && c.has(kPastK) == c.has(kPastV) && c.shape(kK)[0] == c.shape(kQ)[0] &&
                c.shape(kV)[0] == c.shape(kQ)[0] && past_fits(c, kPastK, s, head_size) &&
                past_fits(c, kPastV, s, v_head_size),
            ErrorCode::invalid_argument, "Q has shape {}, K {}, V {}", c.shape(kQ), c.shape(kK), c.shape(kV));
    return s;
  }

  AttentionData<float> data(const RunContext& c) const {
    const auto output = [&](size_t i) { return c.wants(i) ? c.output<float>(i).data() : nullptr; };
    return {.q = c.input<float>(kQ).data() + q_offset,
            .k = c.input<float>(kK).data() + k_offset,
            .v = c.input<float>(kV).data() + v_offset,
            .past_k = c.optional<float>(kPastK),
            .past_v = c.optional<float>(kPastV),
            .y = output(kY),
            .present_k = output(kPresentK),
            .present_v = output(kPresentV)};
  }

  ScoreRule rule(const RunContext& c, const AttentionShape& s) const {
    ScoreRule r;
    r.scale = scale;
    r.bias = mask(c, kBias, s);
    r.flags = mask(c, kFlags, s);
    r.flag_hides = flag_hides;
    r.hidden = hidden;
    r.blind = blind_zero ? 0 : std::numeric_limits<double>::quiet_NaN();
    return r;
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const { return prepare_attention(c); }
  size_t scratch(const RunContext& c) const {
    return attention_scratch(shape(c), c.wants(kPresentK), c.wants(kPresentV), c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const AttentionShape s = shape(c);
    attention_fast(s, data(c), rule(c, s), c.scratch(), c.parallel());
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const AttentionShape s = shape(c);
    attention_reference(s, data(c), rule(c, s), c.parallel());
  }

 private:
  // Like the additions that this operator replaced, rejects a mask that covers only some of the keys.
  ScoreOperand mask(const RunContext& c, size_t i, const AttentionShape& s) const {
    const ScoreOperand o = score_operand(c, i, s, i == kBias && bias_repeats);
    const bool fits = !c.has(i) || c.shape(i).rank() == 0 || c.shape(i).back() == 1 || o.columns == s.total();
    require(fits, ErrorCode::invalid_argument, "the mask covers {} keys, but there are {}", o.columns, s.total());
    return o;
  }
  bool past_fits(const RunContext& c, size_t i, const AttentionShape& s, int64_t size) const {
    return !c.has(i) || c.shape(i) == Shape{int64_t(s.batch), kv_heads, int64_t(s.past_len), size};
  }
};

}  // namespace

extern const OpDef op_strided_attention;
constinit const OpDef op_strided_attention = define<StridedAttention>({
    .name = "Attention",
    .domain = "retort",
    .inputs = {"Q: T", "K: T", "V: T", "bias: T?", "flags: F?", "past_k: T?", "past_v: T?"},
    .outputs = {"Y: T", "present_k: T?", "present_v: T?"},
    .types = types({DType::f32}),
    .traits = kInternal,
    .appends = {{{1, 5}, {2, 6}}},
});

}  // namespace retort::ops
