// com.microsoft GroupQueryAttention: attention of language models with a cache of keys and values whose entries of the
// batch have their own lengths. If past and present caches are one buffer, only the new rows are written.
#include <algorithm>
#include <cmath>

#include "heads.h"

namespace providers::cuda {
namespace {

enum Input : size_t {
  kQ,
  kK,
  kV,
  kPastK,
  kPastV,
  kLast,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kBias,
  kSinks,
  kKScale,
  kVScale,
  kQNorm,
  kKNorm,
  kFresh
};
enum Output : size_t { kY, kPresentK, kPresentV, kScores };

/// Extents of one plan.
struct Extents {
  int64_t batch = 0, rows = 0, size = 0, past = 0, total = 0, room = 0;
  bool packed = false;
};

class GroupQuery : public Op {
 public:
  GroupQuery(const Node& node, const Builder& builder)
      : heads_(node.integer("num_heads", 0)),
        kv_heads_(node.integer("kv_num_heads", 0)),
        window_(node.integer("local_window_size", -1)),
        causal_(node.integer("causal", 1) != 0),
        rotates_(node.integer("do_rotary", 0) != 0),
        interleaved_(node.integer("rotary_interleaved", 0) != 0),
        smooth_(node.integer("smooth_softmax", -1) == 1),
        scale_(node.number("scale", 0)),
        softcap_(node.number("softcap", 0)),
        q_epsilon_(node.number("q_norm_epsilon", node.number("qk_norm_epsilon", 1e-6f))),
        k_epsilon_(node.number("k_norm_epsilon", node.number("qk_norm_epsilon", 1e-6f))),
        settings_(builder) {}

  void emit(Emitter& e) const override {
    const Extents x = extents(e);
    const Type type = e.look(kQ).type;
    const Operand last = e.in(kLast), q = e.in(kQ);
    const Operand y = e.out(kY, type, {x.batch, x.rows, heads_ * x.size});
    const Dims dims{x.batch, kv_heads_, x.room, x.size};
    const Operand present_k = cache(e, kPresentK, type, dims), present_v = cache(e, kPresentV, type, dims);
    Turn turn = turn_of(e, x, q);
    turn.lengths = last;
    turn.k.to = {present_k, split_heads(x.room, kv_heads_, x.size)};
    turn.v.to = {present_v, split_heads(x.room, kv_heads_, x.size)};
    keep(e, x, kPastK, present_k, last);
    keep(e, x, kPastV, present_v, last);
    turn_heads(e, turn);
    AttentionCall call = call_of(e, x);
    call.lengths = last;
    call.q = turn.q.heads ? turn.q.to : queries(x, q);
    call.k = turn.k.to;
    call.v = turn.v.to;
    call.y = {y, packed_heads(x.rows, heads_, x.size)};
    attention(e, call);
  }

 private:
  Extents extents(Emitter& e) const;
  Turn turn_of(Emitter& e, const Extents& x, const Operand& q) const;
  AttentionCall call_of(Emitter& e, const Extents& x) const;

  // Whether no entry of the batch has a past: `total` is the longest one.
  static bool is_prompt(const Extents& x) { return x.total == x.rows; }

  static Operand cache(Emitter& e, size_t i, Type type, const Dims& dims) {
    if (e.has_out(i)) return e.out(i, type, dims);
    Operand made = e.scratch(size_t(dims[0] * dims[1] * dims[2] * dims[3]) * size_of(type));
    made.type = type;
    made.dims = dims;
    return made;
  }

  void keep(Emitter& e, const Extents& x, size_t i, const Operand& present, const Operand& last) const {
    const bool has = e.has(i) && x.past > 0;
    if (!has && is_prompt(x)) return;
    KeptCache c;
    if (has) c.past = e.in(i);
    c.present = present;
    c.batch = x.batch;
    c.heads = kv_heads_;
    c.past_rows = x.past;
    c.rows = x.room;
    c.size = x.size;
    c.fresh = x.rows;
    c.lengths = last;
    c.length_plus = 1;
    c.from_end = !is_prompt(x);
    keep_past(e, c);
  }

  Heads queries(const Extents& x, const Operand& q) const {
    return {q, packed_heads(x.rows, x.packed ? heads_ + 2 * kv_heads_ : heads_, x.size)};
  }

  const int64_t heads_, kv_heads_, window_;
  const bool causal_, rotates_, interleaved_, smooth_;
  const float scale_, softcap_, q_epsilon_, k_epsilon_;
  const AttentionSettings settings_;
};

Extents GroupQuery::extents(Emitter& e) const {
  const Operand& q = e.look(kQ);
  Extents x;
  x.packed = !e.has(kK);
  const int64_t parts = x.packed ? heads_ + 2 * kv_heads_ : heads_;
  if (q.rank() != 3 || q.dims[2] % parts)
    e.fail(text("the query is expected to have 3 axes, the last a multiple of ", parts));
  x.batch = q.dims[0];
  x.rows = q.dims[1];
  x.size = q.dims[2] / parts;
  for (const size_t i : {kK, kV})
    if (e.has(i)) expect_dims(e, i, {x.batch, x.rows, kv_heads_ * x.size});
  if (e.has(kPastK)) {
    const Dims& past = e.look(kPastK).dims;
    x.past = past.size() == 4 ? past[2] : 0;
    for (const size_t i : {kPastK, kPastV}) expect_dims(e, i, {x.batch, kv_heads_, x.past, x.size});
  }
  const auto& total = e.integers(kTotal);
  if (total.size() != 1) e.fail(text("total_sequence_length has ", total.size(), " elements, expected 1"));
  if (int64_t(e.look(kLast).count()) != x.batch)
    e.fail(text("seqlens_k has ", e.look(kLast).count(), " elements, expected ", x.batch));
  x.total = total[0];
  x.room = std::max(x.past, x.total);
  return x;
}

// K and V enter the cache; Q is moved only if it changes.
Turn GroupQuery::turn_of(Emitter& e, const Extents& x, const Operand& q) const {
  Turn t;
  t.batch = x.batch;
  t.rows = x.rows;
  t.length_plus = 1;
  t.from_end = !is_prompt(x);
  t.interleaved = interleaved_;
  const auto behind = [&](int64_t heads) {
    Heads part = queries(x, q);
    part.data.offset += size_t(heads * x.size) * size_of(q.type);
    return part;
  };
  t.k.from = x.packed ? behind(heads_) : Heads{e.in(kK), packed_heads(x.rows, kv_heads_, x.size)};
  t.v.from = x.packed ? behind(heads_ + kv_heads_) : Heads{e.in(kV), packed_heads(x.rows, kv_heads_, x.size)};
  for (MovedHeads* m : {&t.k, &t.v}) {
    m->heads = kv_heads_;
    m->size = x.size;
    m->room = x.room;
  }
  if (e.has(kKNorm)) {
    t.q_norm = e.in(kQNorm);
    t.k_norm = e.in(kKNorm);
    t.q.epsilon = q_epsilon_;
    t.k.epsilon = k_epsilon_;
  }
  if (rotates_) {
    t.cos = e.in(kCos);
    t.sin = e.in(kSin);
    if (t.cos.rank() != 2 || t.cos.dims != t.sin.dims || 2 * t.cos.dims[1] > x.size)
      e.fail(text("cos_cache has shape ", shape_text(t.cos.dims), " and sin_cache ", shape_text(t.sin.dims),
                  ", expected two axes, the last at most ", x.size / 2));
    t.q.rotates = t.k.rotates = true;
    if (e.has(kPositions)) {
      expect_dims(e, kPositions, {x.batch, x.rows});
      t.positions = e.in(kPositions);
    }
  }
  if (!rotates_ && !e.has(kQNorm)) return t;
  t.q.from = queries(x, q);
  t.q.heads = heads_;
  t.q.size = x.size;
  Operand turned = e.scratch(size_t(x.batch * x.rows * heads_ * x.size) * size_of(q.type));
  turned.type = q.type;
  t.q.to = {turned, packed_heads(x.rows, heads_, x.size)};
  return t;
}

AttentionCall GroupQuery::call_of(Emitter& e, const Extents& x) const {
  AttentionCall c;
  c.batch = x.batch;
  c.heads = heads_;
  c.kv_heads = kv_heads_;
  c.rows = x.rows;
  c.keys = x.total;
  c.size = c.v_size = x.size;
  c.scale = scale_ != 0 ? double(scale_) : 1 / std::sqrt(double(std::max<int64_t>(x.size, 1)));
  c.softcap = softcap_;
  c.causal = causal_;
  c.left = window_ > 0 ? window_ - 1 : -1;
  c.length_plus = 1;
  c.from_end = !is_prompt(x);
  c.settings = settings_;
  if (e.has(kBias)) c.bias = score_operand(e, e.in(kBias), {x.batch, heads_, x.rows, x.total}, &c.keys);
  if (e.has(kSinks)) {
    c.sinks = e.in(kSinks);
    if (int64_t(c.sinks->count()) != heads_) e.fail(text("head_sink has ", c.sinks->count(), " elements"));
  } else if (smooth_) {
    const std::vector<char> zeros(size_t(heads_) * size_of(e.look(kQ).type));
    c.sinks = e.table(zeros.data(), zeros.size());
  }
  return c;
}

std::string refuses(const Node& node, const Claiming& claiming) {
  if (!is_attention_type(node.input(kQ))) return "its type is not float32, float16 or bfloat16";
  if (node.string("k_quant_type", "NONE") != "NONE" || node.string("v_quant_type", "NONE") != "NONE")
    return "its cache is quantised";
  if (node.integer("sliding_window_cache", 0)) return "its cache is a sliding window";
  if (node.input(kFresh)) return "it has query_seqlens";
  if (node.out.size() > kScores && node.out[kScores]) return "its scores are an output";
  if (node.input(kPastK) && node.input(kPastK)->type != node.input(kQ)->type) return "its cache has another type";
  if (node.integer("kv_num_heads", 0) <= 0 || node.integer("num_heads", 0) % node.integer("kv_num_heads", 1))
    return "num_heads is not a multiple of kv_num_heads";
  if (!node.input(kLast) || !node.input(kTotal)) return "seqlens_k or total_sequence_length is missing";
  if ((node.input(kK) == nullptr) != (node.input(kV) == nullptr) ||
      (node.input(kPastK) == nullptr) != (node.input(kPastV) == nullptr) ||
      (node.input(kQNorm) == nullptr) != (node.input(kKNorm) == nullptr))
    return "only one of two inputs that belong together is given";
  if (node.integer("do_rotary", 0) && (!node.input(kCos) || !node.input(kSin)))
    return "it has no cos_cache or sin_cache";
  if (!claiming.known(node.input(kTotal))) return "total_sequence_length is computed from data";
  return "";
}

}  // namespace

void add_group_query(Kinds& kinds) {
  kinds[{"com.microsoft", "GroupQueryAttention"}] = {
      refuses, [](const Node& node, Builder& builder) { return std::make_unique<GroupQuery>(node, builder); }};
}

}  // namespace providers::cuda
