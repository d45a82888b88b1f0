// com.microsoft Attention: one product makes Q, K and V of the input; then as MultiHeadAttention. In expansions, there
// are no weights: the input has Q, K and V.
#include <algorithm>
#include <cmath>

#include "cuda/core/products.h"
#include "masks.h"

namespace providers::cuda {
namespace {

enum Input : size_t { kX, kWeights, kProjection, kMask, kPast, kBias, kFilled };
enum Output : size_t { kY, kPresent };

/// Extents of one plan. `q`, `v`: elements of all heads.
struct Extents {
  int64_t batch = 0, rows = 0, depth = 0, past = 0, q = 0, v = 0;
  int64_t width() const { return 2 * q + v; }
  int64_t total() const { return past + rows; }
};

class PackedAttention : public Op {
 public:
  PackedAttention(const Node& node, const Builder& builder)
      : heads_(node.integer("num_heads", 0)),
        sizes_(node.integers("qkv_hidden_sizes")),
        causal_(node.integer("unidirectional", 0) != 0),
        filter_(node.number("mask_filter_value", -10000)),
        scale_(node.number("scale", 0)),
        settings_(builder) {}

  void emit(Emitter& e) const override {
    const Extents x = extents(e);
    const Operand all = project(e, x);
    AttentionCall c;
    c.batch = x.batch;
    c.heads = c.kv_heads = heads_;
    c.rows = x.rows;
    c.keys = x.total();
    c.size = x.q / heads_;
    c.v_size = x.v / heads_;
    c.scale = scale_ != 0 ? double(scale_) : 1 / std::sqrt(double(std::max<int64_t>(c.size, 1)));
    c.causal = causal_;
    c.before = x.past;
    c.blind = std::numeric_limits<double>::quiet_NaN();
    c.settings = settings_;
    c.q = part(x, all, 0, c.size);
    c.k = part(x, all, x.q, c.size);
    c.v = part(x, all, 2 * x.q, c.v_size);
    MaskCall m;
    m.mask = kMask;
    m.bias = kBias;
    m.batch = x.batch;
    m.heads = heads_;
    m.rows = x.rows;
    m.keys = x.total();
    m.filter = filter_;
    c.bias = joined_masks(e, m);
    if (e.has(kPast) || e.has_out(kPresent)) append(e, x, c);
    c.y = {e.out(kY, all.type, {x.batch, x.rows, x.v}), packed_heads(x.rows, heads_, c.v_size)};
    attention(e, c);
  }

 private:
  Extents extents(Emitter& e) const;
  Operand project(Emitter& e, const Extents& x) const;
  void append(Emitter& e, const Extents& x, AttentionCall& c) const;

  static Heads part(const Extents& x, const Operand& all, int64_t offset, int64_t size) {
    Heads made{all, {x.rows * x.width(), size, x.width()}};
    made.data.offset += size_t(offset) * size_of(all.type);
    return made;
  }

  const int64_t heads_;
  const Dims sizes_;
  const bool causal_;
  const float filter_, scale_;
  const AttentionSettings settings_;
};

Extents PackedAttention::extents(Emitter& e) const {
  const Dims& in = e.look(kX).dims;
  const Dims w = e.has(kWeights) ? e.look(kWeights).dims : in.empty() ? in : Dims{in.back(), in.back()};
  if (in.size() != 3 || w.size() != 2 || in[2] != w[0]) e.fail("the input has 3 axes, the weights 2 that match");
  Extents x;
  x.batch = in[0];
  x.rows = in[1];
  x.depth = in[2];
  x.q = sizes_.size() == 3 ? sizes_[0] : w[1] / 3;
  x.v = sizes_.size() == 3 ? sizes_[2] : w[1] / 3;
  if (x.width() != w[1] || x.q % heads_ || x.v % heads_ || (sizes_.size() == 3 && sizes_[1] != x.q))
    e.fail(text("the weights have ", w[1], " columns, expected those of Q, K and V for ", heads_, " heads"));
  if (e.has(kProjection)) expect_dims(e, kProjection, {w[1]});
  if (e.has(kPast)) {
    x.past = e.look(kPast).rank() == 5 ? e.look(kPast).dims[3] : 0;
    expect_dims(e, kPast, {2, x.batch, heads_, x.past, x.q / heads_});
  }
  if ((e.has(kPast) || e.has_out(kPresent)) && x.q != x.v) e.fail("a cache needs heads of K and V of one size");
  return x;
}

// Q, K and V of each row, one after the other.
Operand PackedAttention::project(Emitter& e, const Extents& x) const {
  const Operand in = e.in(kX);
  if (!e.has(kWeights)) return in;
  const Operand weights = e.in(kWeights);
  const Operand bias = e.has(kProjection) ? e.in(kProjection) : Operand();
  Product p;
  p.type = p.out = in.type;
  p.tf32 = settings_.tf32;
  p.m = x.batch * x.rows;
  p.n = x.width();
  p.k = x.depth;
  p.bias = e.has(kProjection);
  Operand all = e.scratch(size_t(p.m * p.n) * size_of(in.type));
  all.type = in.type;
  all.dims = {x.batch, x.rows, x.width()};
  if (p.m * p.n == 0) return all;
  if (p.k == 0) e.fail("the input has no elements in a row");
  Products& products = e.device().products();
  const auto plan = products.plan(p);
  if (!plan) e.fail("cuBLASLt has no algorithm for the product of the input and the weights");
  const Operand workspace = e.scratch(plan->workspace);
  e.call({in, weights, bias, all, workspace}, [=, &products](const Run& run) {
    ProductAddresses at;
    at.a = run(in);
    at.b = run(weights);
    at.bias = run(bias);
    at.d = run(all);
    at.workspace = run(workspace);
    products.submit(*plan, run.stream, at);
  });
  return all;
}

// The present keys and values: [2, B, H, T, D].
void PackedAttention::append(Emitter& e, const Extents& x, AttentionCall& c) const {
  const Type type = c.q.data.type;
  const int64_t each = x.batch * heads_ * x.total() * c.size, old = x.batch * heads_ * x.past * c.size;
  Operand present;
  if (e.has_out(kPresent)) {
    present = e.out(kPresent, type, {2, x.batch, heads_, x.total(), c.size});
  } else {
    present = e.scratch(size_t(2 * each) * size_of(type));
    present.type = type;
  }
  Turn t;
  t.batch = x.batch;
  t.rows = x.rows;
  t.before = x.past;
  MovedHeads* const moves[] = {&t.k, &t.v};
  Heads* const heads[] = {&c.k, &c.v};
  for (int64_t i = 0; i < 2; ++i) {
    Operand half = present;
    half.offset += size_t(i * each) * size_of(type);
    if (x.past) {
      KeptCache kept;
      kept.past = e.in(kPast);
      kept.past.offset += size_t(i * old) * size_of(type);
      kept.present = half;
      kept.batch = x.batch;
      kept.heads = heads_;
      kept.past_rows = kept.before = x.past;
      kept.rows = x.total();
      kept.size = c.size;
      kept.fresh = x.rows;
      keep_past(e, kept);
    }
    MovedHeads& m = *moves[i];
    m.from = *heads[i];
    m.to = *heads[i] = {half, split_heads(x.total(), heads_, c.size)};
    m.heads = heads_;
    m.size = c.size;
    m.room = x.total();
  }
  turn_heads(e, t);
}

std::string refuses(const Node& node, const Claiming&) {
  const Value* const weights = node.input(kWeights);
  const bool fits = weights ? weights->type == node.input(kX)->type : !node.handle;
  if (!is_attention_type(node.input(kX)) || !fits)
    return "its type is not float32, float16 or bfloat16, or its weights have another type";
  if (node.integer("num_heads", 0) <= 0) return "num_heads is not positive";
  if (node.integer("do_rotary", 0)) return "it rotates Q and K";
  if (node.input(kFilled) || node.integer("past_present_share_buffer", 0)) return "past and present share a buffer";
  const Value* mask = node.input(kMask);
  if (mask && (!mask->has_rank || mask->rank() > 3)) return "its mask has 4 axes";
  return "";
}

}  // namespace

void add_packed_attention(Kinds& kinds) {
  kinds[{"com.microsoft", "Attention"}] = {
      refuses, [](const Node& node, Builder& builder) { return std::make_unique<PackedAttention>(node, builder); }};
}

}  // namespace providers::cuda
