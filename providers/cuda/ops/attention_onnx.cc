// ai.onnx Attention: Q, K and V as [B, H, S, D] or [B, S, H * D], with past and present keys and values.
#include <algorithm>
#include <cmath>

#include "heads.h"

namespace providers::cuda {
namespace {

enum Input : size_t { kQ, kK, kV, kMask, kPastK, kPastV, kValid };
enum Output : size_t { kY, kPresentK, kPresentV, kScores };

/// Extents of one plan.
struct Extents {
  int64_t batch = 0, heads = 0, kv_heads = 0, rows = 0, fresh = 0, past = 0, size = 0, v_size = 0;
  bool packed = false;  // [B, S, H * D]
  int64_t total() const { return past + fresh; }
  HeadStrides strides(int64_t count, int64_t n, int64_t length) const {
    return packed ? packed_heads(count, n, length) : split_heads(count, n, length);
  }
};

class OnnxAttention : public Op {
 public:
  OnnxAttention(const Node& node, const Builder& builder)
      : causal_(node.integer("is_causal", 0) != 0),
        q_heads_(node.integer("q_num_heads", 0)),
        kv_heads_(node.integer("kv_num_heads", 0)),
        left_(node.integer("left_window_size", -1)),
        right_(node.integer("right_window_size", -1)),
        has_scale_(node.has("scale")),
        scale_(node.number("scale", 0)),
        softcap_(node.number("softcap", 0)),
        settings_(builder) {}

  void emit(Emitter& e) const override {
    const Extents x = extents(e);
    const Operand q = e.in(kQ), k = e.in(kK), v = e.in(kV);
    AttentionCall c = call_of(e, x);
    c.q = {q, x.strides(x.rows, x.heads, x.size)};
    c.k = cached(e, x, kPresentK, {k, x.strides(x.fresh, x.kv_heads, x.size)}, x.size);
    c.v = cached(e, x, kPresentV, {v, x.strides(x.fresh, x.kv_heads, x.v_size)}, x.v_size);
    const Dims dims = x.packed ? Dims{x.batch, x.rows, x.heads * x.v_size} : Dims{x.batch, x.heads, x.rows, x.v_size};
    c.y = {e.out(kY, q.type, dims), x.strides(x.rows, x.heads, x.v_size)};
    attention(e, c);
  }

 private:
  Extents extents(Emitter& e) const;

  // The keys or values of all rows: those of the input, unless there are past rows or a present output.
  Heads cached(Emitter& e, const Extents& x, size_t present, const Heads& fresh, int64_t size) const {
    const size_t past = present + (size_t(kPastK) - size_t(kPresentK));
    if (!e.has(past) && !e.has_out(present)) return fresh;
    Operand to;
    if (e.has_out(present)) {
      to = e.out(present, fresh.data.type, {x.batch, x.kv_heads, x.total(), size});
    } else {
      to = e.scratch(size_t(x.batch * x.kv_heads * x.total() * size) * size_of(fresh.data.type));
      to.type = fresh.data.type;
    }
    KeptCache kept;
    if (e.has(past)) kept.past = e.in(past);
    kept.present = to;
    kept.batch = x.batch;
    kept.heads = x.kv_heads;
    kept.past_rows = kept.before = x.past;
    kept.rows = x.total();
    kept.size = size;
    kept.fresh = x.fresh;
    if (x.past) keep_past(e, kept);
    Turn turn;
    turn.batch = x.batch;
    turn.rows = x.fresh;
    turn.before = x.past;
    turn.k.from = fresh;
    turn.k.to = {to, split_heads(x.total(), x.kv_heads, size)};
    turn.k.heads = x.kv_heads;
    turn.k.size = size;
    turn.k.room = x.total();
    turn_heads(e, turn);
    return turn.k.to;
  }

  AttentionCall call_of(Emitter& e, const Extents& x) const {
    AttentionCall c;
    c.batch = x.batch;
    c.heads = x.heads;
    c.kv_heads = x.kv_heads;
    c.rows = x.rows;
    c.keys = x.total();
    c.size = x.size;
    c.v_size = x.v_size;
    c.scale = has_scale_ ? double(scale_) : 1 / std::sqrt(double(std::max<int64_t>(x.size, 1)));
    c.softcap = softcap_;
    c.causal = causal_;
    c.left = left_;
    c.right = right_;
    c.before = x.past;
    c.settings = settings_;
    if (e.has(kMask)) {
      const Operand mask = e.in(kMask);
      auto& to = mask.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL ? c.flags : c.bias;
      to = score_operand(e, mask, {x.batch, x.heads, x.rows, x.total()}, &c.keys);
    }
    if (e.has(kValid)) {
      expect_dims(e, kValid, {x.batch});
      c.lengths = e.in(kValid);
      c.from_end = true;
    }
    return c;
  }

  const bool causal_;
  const int64_t q_heads_, kv_heads_, left_, right_;
  const bool has_scale_;
  const float scale_, softcap_;
  const AttentionSettings settings_;
};

Extents OnnxAttention::extents(Emitter& e) const {
  const Dims &q = e.look(kQ).dims, &k = e.look(kK).dims, &v = e.look(kV).dims;
  if (q.size() != k.size() || q.size() != v.size() || (q.size() != 3 && q.size() != 4))
    e.fail("Q, K and V are expected to have 3 axes each, or 4");
  Extents x;
  x.packed = q.size() == 3;
  if (x.packed && (q_heads_ <= 0 || kv_heads_ <= 0 || q[2] % q_heads_ || k[2] % kv_heads_ || v[2] % kv_heads_))
    e.fail(text("the last extents are expected to be multiples of q_num_heads ", q_heads_, " and kv_num_heads ",
                kv_heads_));
  x.batch = q[0];
  x.heads = x.packed ? q_heads_ : q[1];
  x.kv_heads = x.packed ? kv_heads_ : k[1];
  x.rows = q[x.packed ? 1 : 2];
  x.fresh = k[x.packed ? 1 : 2];
  x.size = x.packed ? q[2] / q_heads_ : q[3];
  x.v_size = x.packed ? v[2] / kv_heads_ : v[3];
  const auto dims = [&](int64_t size) {
    return x.packed ? Dims{x.batch, x.fresh, x.kv_heads * size} : Dims{x.batch, x.kv_heads, x.fresh, size};
  };
  expect_dims(e, kK, dims(x.size));
  expect_dims(e, kV, dims(x.v_size));
  if (e.has(kPastK)) {
    const Dims& past = e.look(kPastK).dims;
    x.past = past.size() == 4 ? past[2] : 0;
    expect_dims(e, kPastK, {x.batch, x.kv_heads, x.past, x.size});
    expect_dims(e, kPastV, {x.batch, x.kv_heads, x.past, x.v_size});
  }
  return x;
}

std::string refuses(const Node& node, const Claiming&) {
  if (!is_attention_type(node.input(kQ))) return "its type is not float32, float16 or bfloat16";
  for (const size_t i : {kK, kV})
    if (!node.input(i) || node.input(i)->type != node.input(kQ)->type) return "Q, K and V have several types";
  if (node.out.size() > kScores && node.out[kScores]) return "its scores are an output";
  if ((node.input(kPastK) == nullptr) != (node.input(kPastV) == nullptr)) return "only one past tensor is given";
  const Value* mask = node.input(kMask);
  if (mask && mask->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL && !is_attention_type(mask))
    return "the type of its mask is neither bool nor float32, float16 or bfloat16";
  return "";
}

}  // namespace

void add_onnx_attention(Kinds& kinds) {
  kinds[{"", "Attention"}] = {
      refuses, [](const Node& node, Builder& builder) { return std::make_unique<OnnxAttention>(node, builder); }};
}

}  // namespace providers::cuda
