// com.microsoft MultiHeadAttention and DecoderMaskedMultiHeadAttention: heads that lie side by side, with a bias of Q,
// K and V, masks of padding, and caches.
#include <algorithm>
#include <cmath>

#include "masks.h"

namespace providers::cuda {
namespace {

/// The indices of the inputs: the two operators order them differently.
struct Inputs {
  size_t q, k, v, projection, mask, bias, past_k, past_v, past_rows;
};
enum Output : size_t { kY, kPresentK, kPresentV, kScores };

/// The layout of Q, K and V: three tensors; K and V split into heads; K and V side by side for each head; Q, K and V
/// side by side for each head; or, in each row, all Q, then all K, then all V.
enum class Form { apart, split, pairs, triples, rows };

/// Extents of one plan.
struct Extents {
  Form form = Form::apart;
  int64_t batch = 0, heads = 0, rows = 0, fresh = 0, past = 0, room = 0, size = 0, v_size = 0;  // room: of the caches
  int64_t total() const { return past + fresh; }
};

class MultiHead : public Op {
 public:
  MultiHead(const Node& node, const Builder& builder, const Inputs& in, bool one_row)
      : in_(in),
        one_row_(one_row),
        heads_(node.integer("num_heads", 0)),
        filter_(node.number("mask_filter_value", -10000)),
        scale_(node.number("scale", 0)),
        causal_(node.integer("unidirectional", 0) != 0),
        settings_(builder) {}

  void emit(Emitter& e) const override {
    const Extents x = extents(e);
    AttentionCall c = call_of(x);
    find_inputs(e, x, c);
    add_masks(e, x, c);
    move(e, x, c);
    c.y = {e.out(kY, e.look(in_.q).type, {x.batch, x.rows, heads_ * x.v_size}), packed_heads(x.rows, heads_, x.v_size)};
    attention(e, c);
  }

 private:
  Extents extents(Emitter& e) const;
  void find_sizes(Emitter& e, Extents& x) const;
  void find_inputs(Emitter& e, const Extents& x, AttentionCall& c) const;
  void add_masks(Emitter& e, const Extents& x, AttentionCall& c) const;
  void move(Emitter& e, const Extents& x, AttentionCall& c) const;
  void keep(Emitter& e, const Extents& x, size_t past, const Operand& present, int64_t size) const;

  AttentionCall call_of(const Extents& x) const {
    AttentionCall c;
    c.batch = x.batch;
    c.heads = c.kv_heads = heads_;
    c.rows = x.rows;
    c.keys = x.total();
    c.size = x.size;
    c.v_size = x.v_size;
    c.scale = scale_ != 0 ? double(scale_) : 1 / std::sqrt(double(std::max<int64_t>(x.size, 1)));
    c.causal = causal_ && x.rows > 1;
    c.before = x.past;
    c.blind = std::numeric_limits<double>::quiet_NaN();
    c.settings = settings_;
    return c;
  }
  // Memory for [B, H, rows, size], in an output if there is one.
  Operand room(Emitter& e, size_t out, const Dims& dims) const {
    const Type type = e.look(in_.q).type;
    if (e.has_out(out)) return e.out(out, type, dims);
    Operand made = e.scratch(size_t(dims[0] * dims[1] * dims[2] * dims[3]) * size_of(type));
    made.type = type;
    return made;
  }

  const Inputs in_;
  const bool one_row_;
  const int64_t heads_;
  const float filter_, scale_;
  const bool causal_;
  const AttentionSettings settings_;
};

Extents MultiHead::extents(Emitter& e) const {
  Extents x;
  x.heads = heads_;
  const Dims& q = e.look(in_.q).dims;
  if (!e.has(in_.k)) {
    if (q.size() != 5 && !(one_row_ && q.size() == 3)) e.fail("without a key, the query is expected to have 5 axes");
    x.form = q.size() == 5 ? Form::triples : Form::rows;
  } else {
    const size_t rank = e.look(in_.k).rank();
    if (q.size() != 3 || rank < 3 || rank > 5) e.fail("the query is expected to have 3 axes, and the key 3 to 5");
    x.form = rank == 3 ? Form::apart : rank == 4 ? Form::split : Form::pairs;
    if (e.has(in_.v) == (rank == 5)) e.fail("a value is expected unless the key has 5 axes");
  }
  x.batch = q[0];
  x.rows = x.fresh = q[1];
  if (one_row_ && x.rows != 1) e.fail(text("the query has ", x.rows, " rows, expected 1"));
  find_sizes(e, x);
  if (!e.has(in_.past_k)) {
    x.room = x.total();
    return x;
  }
  const Dims& past = e.look(in_.past_k).dims;
  x.past = past.size() == 4 ? past[2] : 0;
  expect_dims(e, in_.past_k, {x.batch, heads_, x.past, x.size});
  expect_dims(e, in_.past_v, {x.batch, heads_, x.past, x.v_size});
  if (x.form == Form::split) e.fail("keys that are split into heads have no past");
  x.room = x.past + x.fresh;
  if (!e.has(in_.past_rows)) return x;
  x.room = x.past;
  const auto& given = e.integers(in_.past_rows);
  if (given.size() != 1 || given[0] < 0 || given[0] + x.fresh > x.room)
    e.fail(text("past_sequence_length does not fit ", x.fresh, " new rows in caches of ", x.room));
  x.past = given[0];
  return x;
}

void MultiHead::find_sizes(Emitter& e, Extents& x) const {
  const Dims& q = e.look(in_.q).dims;
  const auto divide = [&](int64_t width) {
    if (width % heads_) e.fail(text(width, " elements are expected to be a multiple of ", heads_, " heads"));
    return width / heads_;
  };
  if (x.form == Form::triples) {
    expect_dims(e, in_.q, {x.batch, x.rows, heads_, 3, q[4]});
    x.size = x.v_size = q[4];
    return;
  }
  x.size = x.v_size = divide(x.form == Form::rows ? q[2] / 3 : q[2]);
  if (x.form == Form::rows) return;
  const Dims& k = e.look(in_.k).dims;
  x.fresh = k[x.form == Form::split ? 2 : 1];
  if (x.form == Form::pairs) expect_dims(e, in_.k, {x.batch, x.fresh, heads_, 2, x.size});
  if (x.form == Form::split) {
    x.v_size = e.look(in_.v).rank() == 4 ? e.look(in_.v).dims[3] : 0;
    expect_dims(e, in_.k, {x.batch, heads_, x.fresh, x.size});
    expect_dims(e, in_.v, {x.batch, heads_, x.fresh, x.v_size});
  }
  if (x.form == Form::apart) {
    x.v_size = e.look(in_.v).rank() == 3 ? divide(e.look(in_.v).dims[2]) : 0;
    expect_dims(e, in_.k, {x.batch, x.fresh, heads_ * x.size});
    expect_dims(e, in_.v, {x.batch, x.fresh, heads_ * x.v_size});
  }
}

// Where Q, K and V are.
void MultiHead::find_inputs(Emitter& e, const Extents& x, AttentionCall& c) const {
  const Operand q = e.in(in_.q);
  const size_t element = size_of(q.type);
  const int64_t n = heads_ * x.size;
  const auto part = [&](const Operand& of, int64_t offset, const HeadStrides& strides) {
    Heads heads{of, strides};
    heads.data.offset += size_t(offset) * element;
    return heads;
  };
  if (x.form == Form::triples || x.form == Form::rows) {
    const bool by_head = x.form == Form::triples;
    const HeadStrides s{x.rows * 3 * n, by_head ? 3 * x.size : x.size, 3 * n};
    const int64_t step = by_head ? x.size : n;
    c.q = part(q, 0, s);
    c.k = part(q, step, s);
    c.v = part(q, 2 * step, s);
    return;
  }
  c.q = {q, packed_heads(x.rows, heads_, x.size)};
  const Operand k = e.in(in_.k);
  if (x.form == Form::pairs) {
    const HeadStrides s{x.fresh * 2 * n, 2 * x.size, 2 * n};
    c.k = part(k, 0, s);
    c.v = part(k, x.size, s);
    return;
  }
  const auto lay = x.form == Form::split ? split_heads : packed_heads;
  c.k = {k, lay(x.fresh, heads_, x.size)};
  c.v = {e.in(in_.v), lay(x.fresh, heads_, x.v_size)};
}

void MultiHead::add_masks(Emitter& e, const Extents& x, AttentionCall& c) const {
  MaskCall m;
  m.mask = in_.mask;
  m.bias = in_.bias;
  m.batch = x.batch;
  m.heads = heads_;
  m.rows = x.rows;
  m.keys = x.total();
  m.filter = filter_;
  c.bias = joined_masks(e, m);
}

void MultiHead::keep(Emitter& e, const Extents& x, size_t past, const Operand& present, int64_t size) const {
  if (!e.has(past)) return;
  KeptCache kept;
  kept.past = e.in(past);
  kept.present = present;
  kept.batch = x.batch;
  kept.heads = heads_;
  kept.past_rows = e.look(past).dims[2];
  kept.rows = x.room;
  kept.size = size;
  kept.before = x.past;
  kept.fresh = x.fresh;
  kept.keeps_rest = true;
  keep_past(e, kept);
}

// Adds the bias, and makes the present keys and values.
void MultiHead::move(Emitter& e, const Extents& x, AttentionCall& c) const {
  const bool biased = e.has(in_.projection), both = biased && x.form != Form::split;
  const bool caches = e.has(in_.past_k) || e.has_out(kPresentK) || e.has_out(kPresentV);
  Turn t;
  t.batch = x.batch;
  if (biased) {
    const int64_t n = heads_ * x.size;
    t.bias = e.in(in_.projection);
    expect_dims(e, in_.projection, {2 * n + heads_ * x.v_size});
    if (x.form == Form::pairs) e.fail("a bias is not supported with packed K and V");
    Turn of_q = t;
    of_q.rows = x.rows;
    of_q.q.from = c.q;
    of_q.q.heads = heads_;
    of_q.q.size = x.size;
    Operand to = e.scratch(size_t(x.batch * x.rows * n) * size_of(c.q.data.type));
    to.type = c.q.data.type;
    of_q.q.to = c.q = {to, packed_heads(x.rows, heads_, x.size)};
    turn_heads(e, of_q);
  }
  if (!caches && !both) return;
  if (!both) t.bias = Operand();
  t.rows = x.fresh;
  t.before = x.past;
  t.k.from = c.k;
  t.v.from = c.v;
  c.k = {room(e, kPresentK, {x.batch, heads_, x.room, x.size}), split_heads(x.room, heads_, x.size)};
  c.v = {room(e, kPresentV, {x.batch, heads_, x.room, x.v_size}), split_heads(x.room, heads_, x.v_size)};
  keep(e, x, in_.past_k, c.k.data, x.size);
  keep(e, x, in_.past_v, c.v.data, x.v_size);
  t.k.to = c.k;
  t.v.to = c.v;
  t.k.heads = t.v.heads = heads_;
  t.k.room = t.v.room = x.room;
  t.k.size = x.size;
  t.v.size = x.v_size;
  t.k.bias = heads_ * x.size;
  t.v.bias = 2 * heads_ * x.size;
  turn_heads(e, t);
}

constexpr Inputs kMultiHead{0, 1, 2, 3, 4, 5, 6, 7, 8}, kDecoder{0, 1, 2, 10, 3, 4, 5, 6, 7};

std::string refuses(const Node& node, const Claiming& claiming, const Inputs& in) {
  if (!is_attention_type(node.input(in.q))) return "its type is not float32, float16 or bfloat16";
  if (node.integer("num_heads", 0) <= 0) return "num_heads is not positive";
  if (node.out.size() > kScores && node.out[kScores]) return "its scores are an output";
  if (node.input(in.past_rows + 1) && in.past_rows == kMultiHead.past_rows) return "it has a cache_indirection";
  if (in.past_rows == kDecoder.past_rows && node.input(9)) return "it has a cache_indirection";
  if ((node.input(in.past_k) == nullptr) != (node.input(in.past_v) == nullptr)) return "only one past tensor is given";
  if (node.input(in.past_rows) && node.input(in.past_k) && !claiming.known(node.input(in.past_rows)))
    return "past_sequence_length is computed from data";
  return "";
}

Kind kind_of(const Inputs& in, bool one_row) {
  return {[in](const Node& node, const Claiming& claiming) { return refuses(node, claiming, in); },
          [in, one_row](const Node& node, Builder& builder) {
            return std::make_unique<MultiHead>(node, builder, in, one_row);
          }};
}

}  // namespace

void add_multi_head(Kinds& kinds) {
  kinds[{"com.microsoft", "MultiHeadAttention"}] = kind_of(kMultiHead, false);
  kinds[{"com.microsoft", "DecoderMaskedMultiHeadAttention"}] = kind_of(kDecoder, true);
}

}  // namespace providers::cuda
