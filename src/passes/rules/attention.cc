// Replaces softmax(q · kᵀ · scale, masked) · v, with the reshapes and transposes around it, by one retort.Attention
// that reads Q, K and V in place, keeps no scores, and appends to the cache of past keys and values. Speeds up BERT,
// MiniLM, ViT, Swin, GPT-2, Llama, Whisper and the encoder of TTS.
#include <cmath>
#include <limits>

#include "passes/attention/cache_shapes.h"
#include "passes/attention/operand.h"
#include "passes/pass.h"

namespace retort {
namespace {

/// The path from the softmax back to the product of Q and K.
struct Scores {
  const Node* product = nullptr;
  double scale = 1;
  ValueId bias = ValueId::none;
  const Tensor* windows = nullptr;  ///< a mask that repeats: [1, windows, heads or 1, rows, keys]
  ValueId flags = ValueId::none;
  bool flag_hides = false;
  double hidden = 0;
  bool scaled = false;  ///< whether a factor is closer to the softmax than the operations still to come on the path
  std::vector<NodeId> nodes;
};

bool find_product(const Graph& g, ValueId v, Scores& s, int depth);

// Whether a mask keeps the shape of the scores. The last axis need not be proven equal: the weights multiply the rows
// of V, so a mask with more columns than keys is invalid in both forms.
bool keeps_shape(const Graph& g, ValueId scores, ValueId masked) {
  const Shape *a = shape_of(g, scores), *b = shape_of(g, masked);
  return a && b && a->rank() > 0 && a->rank() == b->rank() && std::equal(a->begin(), a->end() - 1, b->begin());
}

bool through_mask_add(const Graph& g, const Node& n, Scores& s, int depth) {
  if (s.bias != ValueId::none || s.flags != ValueId::none || s.scaled) return false;
  for (size_t side = 0; side < 2; ++side) {
    const ValueId mask = n.inputs[1 - side];
    const Shape* shape = shape_of(g, mask);
    if (!shape || shape->rank() > 4 || !is_float32(g, mask) || !keeps_shape(g, n.inputs[side], n.outputs[0])) continue;
    Scores attempt = s;
    attempt.bias = mask;
    if (!find_product(g, n.inputs[side], attempt, depth)) continue;
    s = std::move(attempt);
    return true;
  }
  return false;
}

// Follows Where(hide, fill, scores) or Where(show, scores, fill).
bool through_where(const Graph& g, const Node& n, Scores& s, int depth) {
  if (s.flags != ValueId::none || s.scaled) return false;
  const auto fill = scalar_constant(g, n.inputs[1]);
  s.flag_hides = fill.has_value();
  const auto hidden = fill ? fill : scalar_constant(g, n.inputs[2]);
  const ValueId scores = n.inputs[fill ? 2 : 1];
  if (!hidden || !keeps_shape(g, scores, n.outputs[0])) return false;
  s.flags = n.inputs[0];
  s.hidden = *hidden;
  return find_product(g, scores, s, depth);
}

constexpr int64_t kMaxWindowElements = 4 << 20;  // of the bias that is made of the mask

// Follows Reshape(Reshape(scores) + mask), where scores are [images·windows, heads, rows, keys], and each window has a
// mask of its own (Swin).
bool through_window_mask(const Graph& g, const Node& n, Scores& s, int depth) {
  const Node* add = sole_producer_of(g, n.inputs[0], "Add");
  if (!add || s.windows || s.bias != ValueId::none || s.flags != ValueId::none || s.scaled) return false;
  for (size_t side = 0; side < 2; ++side) {
    const Tensor* mask = g.constant(add->inputs[1 - side]);
    const Node* parted = sole_producer_of(g, add->inputs[side], "Reshape");
    if (!mask || !parted || mask->dtype() != DType::f32 || mask->shape().rank() != 5) continue;
    const Shape &m = mask->shape(), *scores = shape_of(g, n.outputs[0]), *by_window = shape_of(g, add->inputs[side]);
    if (!scores || scores->rank() != 4 || !by_window || by_window->rank() != 5 || (*by_window)[1] != m[1] ||
        !std::equal(scores->begin() + 1, scores->end(), by_window->begin() + 2) ||
        !same_shape(g, parted->inputs[0], n.outputs[0]) || !all_known({scores->begin() + 1, scores->end()}))
      continue;
    const bool fits = m[0] == 1 && (m[2] == 1 || m[2] == (*scores)[1]) && m[3] == (*scores)[2] && m[4] == (*scores)[3];
    if (!fits || m[1] * extent_product(*scores, 1, 4) > kMaxWindowElements) continue;
    s.windows = mask;
    s.nodes.insert(s.nodes.end(), {add->id, parted->id});
    return find_product(g, parted->inputs[0], s, depth);
  }
  return false;
}

// The bias of each window; folded later if both parts are constant.
ValueId window_bias(const Scores& s, Patch& p) {
  const Shape& m = s.windows->shape();
  const ValueId mask = p.constant(s.windows->reshaped({m[1], m[2], m[3], m[4]}), "mask");
  return s.bias == ValueId::none ? mask : p.add({.type = "Add", .inputs = {s.bias, mask}});
}
// Whether the bias is the same for all windows.
bool is_shared(const Graph& g, ValueId bias) {
  const Shape* shape = bias == ValueId::none ? nullptr : shape_of(g, bias);
  return !shape || shape->rank() < 4 || (*shape)[0] == 1;
}

bool find_product(const Graph& g, ValueId v, Scores& s, int depth) {
  const Node* n = g.producer(v);
  if (!n || !n->op || !n->domain.empty() || depth == 0 || !used_once(g, v)) return false;
  s.nodes.push_back(n->id);
  if (n->type == "MatMul") {
    s.product = n;
    return true;
  }
  if (n->type == "Mul" || n->type == "Div") {
    const auto c = with_scalar(g, *n);
    if (!c || (n->type == "Div" && c->x != n->inputs[0]) || !same_shape(g, c->x, v)) return false;
    s.scale *= n->type == "Mul" ? c->c : 1 / c->c;
    s.scaled = true;
    return find_product(g, c->x, s, depth - 1);
  }
  if (n->type == "Add") return through_mask_add(g, *n, s, depth - 1);
  if (n->type == "Where") return through_where(g, *n, s, depth - 1);
  if (n->type == "Reshape") return through_window_mask(g, *n, s, depth - 1);
  return false;
}

// Finds the softmax of the weights, also behind the guard that turns the NaN of fully masked rows into zeros
// (`guarded`).
const Node* find_softmax(const Graph& g, ValueId weights, bool& guarded) {
  if (const Node* where = sole_producer_of(g, weights, "Where")) {
    const Node* is_nan = producer_of(g, where->inputs[0], "IsNaN");
    if (!is_nan || is_nan->inputs[0] != where->inputs[2] || scalar_constant(g, where->inputs[1]) != 0.0) return nullptr;
    const Node* softmax = producer_of(g, where->inputs[2], "Softmax");
    guarded = true;
    return softmax && g.use_count(where->inputs[2]) == 2 ? softmax : nullptr;
  }
  return sole_producer_of(g, weights, "Softmax");
}

bool over_last_axis(const Graph& g, const Node& softmax) {
  const Shape* s = shape_of(g, softmax.inputs[0]);
  const int64_t axis = softmax.attributes.get_or<int64_t>("axis", -1);
  return s && (axis == -1 || axis == int64_t(s->rank()) - 1);
}

/// K or V: the new rows, and the past ones that a Concat puts before them.
struct Cached {
  HeadOperand fresh;
  ValueId past = ValueId::none, present = ValueId::none;
  int64_t repeat = 1;
};

// `joined` is false where attention must not make the cache.
std::optional<Cached> cached_operand(const Graph& g, ValueId value, bool transposed, bool joined) {
  const auto all = head_operand(g, value, transposed);
  if (!all) return std::nullopt;
  Cached c{.fresh = *all, .repeat = all->repeat};
  const Node* concat = producer_of(g, all->base, "Concat");
  if (!joined || !concat || !all->split || concat->inputs.size() != 2) return c;
  const int64_t axis = concat->attributes.get_or<int64_t>("axis", 0);
  const Shape* past = shape_of(g, concat->inputs[0]);
  const auto fresh = head_operand(g, concat->inputs[1], false);
  const bool fits = (axis == 2 || axis == -2) && past && past->rank() == 4 && fresh && fresh->repeat == 1 &&
                    fresh->heads == all->heads && fresh->size == all->size && fresh->factor == 1;
  if (!fits) return c;
  c.fresh = *fresh;
  c.fresh.factor = all->factor;
  c.past = concat->inputs[0];
  c.present = concat->outputs[0];
  return c;
}

void set_operand(NodeSpec& spec, const std::string& name, size_t slot, const HeadOperand& o) {
  spec.inputs[slot] = o.base;
  if (o.split) spec.attributes.set(name + "_split", int64_t(1));
  if (o.offset != 0) spec.attributes.set(name + "_offset", o.offset);
}

/// Everything that the fused node needs.
struct Parts {
  Scores scores;
  HeadOperand q;
  Cached k, v;
  bool guarded = false;
  std::vector<ValueId> masks;  ///< as the graph has them; those of `scores` may be made by the patch
};

bool fit(const Parts& p) {
  const HeadOperand &k = p.k.fresh, &v = p.v.fresh;
  const bool heads =
      p.q.repeat == 1 && k.heads == v.heads && p.k.repeat == p.v.repeat && p.q.heads == k.heads * p.k.repeat;
  const bool batches = p.q.batch == k.batch && k.batch == v.batch && k.rows == v.rows && p.q.size == k.size;
  const bool caches = (p.k.past == ValueId::none) == (p.v.past == ValueId::none);
  return heads && batches && caches;
}

// The Reshape target for this shape, unless several extents are unknown.
std::optional<std::vector<int64_t>> merged_target(const Shape& y) {
  std::vector<int64_t> target;
  size_t open = 0;
  for (Dim d : y) {
    target.push_back(is_known(d) ? d : -1);
    open += !is_known(d);
    if (d == 0) return std::nullopt;
  }
  if (open > 1) return std::nullopt;
  return target;
}

// A mask with batch and heads on axes of their own, which it lacks if the scores are [B·H, rows, keys]. Returns false if
// its extents are not known well enough.
bool part_mask(const Graph& g, const HeadOperand& q, ValueId& mask, Patch& p) {
  const Shape* s = mask == ValueId::none ? nullptr : shape_of(g, mask);
  if (!s || s->rank() < 3 || (*s)[0] == 1 || q.batch == 1) return true;
  if (q.heads == 1) {
    mask = p.add({.type = "Unsqueeze", .inputs = {mask, p.constant(int64_tensor(std::vector<int64_t>{1}), "axes")}});
    return true;
  }
  // An extent with a symbol of its own may be 1 in a run.
  const bool full = (*s)[0] == g.dims().mul(q.batch, q.heads);
  const auto target = full ? merged_target({q.batch, q.heads, (*s)[1], (*s)[2]}) : std::nullopt;
  if (target) mask = p.add({.type = "Reshape", .inputs = {mask, p.constant(int64_tensor(*target), "shape")}});
  return target.has_value();
}

NodeSpec make_spec(const Parts& p) {
  NodeSpec spec{.type = "Attention", .inputs = std::vector<ValueId>(7, ValueId::none), .domain = "retort"};
  set_operand(spec, "q", 0, p.q);
  set_operand(spec, "k", 1, p.k.fresh);
  set_operand(spec, "v", 2, p.v.fresh);
  spec.inputs[3] = p.scores.bias;
  spec.inputs[4] = p.scores.flags;
  spec.inputs[5] = p.k.past;
  spec.inputs[6] = p.v.past;
  while (spec.inputs.back() == ValueId::none) spec.inputs.pop_back();
  spec.outputs = p.k.past != ValueId::none ? 3 : 1;
  spec.attributes.set("q_heads", p.q.heads);
  spec.attributes.set("kv_heads", p.k.fresh.heads);
  spec.attributes.set("head_size", p.q.size);
  spec.attributes.set("v_head_size", p.v.fresh.size);
  spec.attributes.set("scale", float(p.scores.scale * p.q.factor * p.k.fresh.factor));
  if (p.scores.windows) spec.attributes.set("bias_repeats", int64_t(1));
  if (p.guarded) spec.attributes.set("blind_zero", int64_t(1));
  if (p.scores.flags != ValueId::none) {
    spec.attributes.set("hidden", float(p.scores.hidden));
    if (p.scores.flag_hides) spec.attributes.set("flag_hides", int64_t(1));
  }
  return spec;
}

// The only user of `v` if it is a Transpose.
const Node* sole_transpose(const Graph& g, ValueId v) {
  if (!used_once(g, v) || g.value(v).uses.empty()) return nullptr;
  const Node& n = g.node(g.value(v).uses[0].node);
  return n.is("Transpose") && n.op ? &n : nullptr;
}

// Connects the fused node's result in place of the product's, in the layout that its consumer needs.
bool connect_result(const Graph& g, const Node& n, NodeSpec spec, Patch& p, const Parts& parts) {
  const ValueId out = n.outputs[0];
  const Shape& y = *shape_of(g, out);
  const Node* turn = y.rank() == 4 ? sole_transpose(g, out) : nullptr;
  const auto perm = turn ? ints_attribute(*turn, "perm") : std::vector<int64_t>();
  const bool rows = perm == std::vector<int64_t>{0, 2, 1, 3}, turned = perm == std::vector<int64_t>{2, 0, 1, 3};
  const auto target = y.rank() == 4 ? std::nullopt : merged_target(y);
  if (y.rank() != 4 && !target) return false;
  if (!rows && !turned) spec.attributes.set("y_split", int64_t(1));
  if (parts.k.past != ValueId::none) {
    const JoinedCache caches[] = {{g.producer(parts.k.present), parts.k.fresh},
                                  {g.producer(parts.v.present), parts.v.fresh}};
    std::vector<ValueId> needed = parts.masks;
    needed.insert(needed.end(), spec.inputs.begin(), spec.inputs.end());
    if (!detach_from_caches(g, needed, caches, p)) return false;
  }
  const std::vector<ValueId> made = p.add_multi(std::move(spec));
  ValueId result = made[0];
  if (turned) {
    result =
        p.add({.type = "Transpose", .inputs = {result}, .attributes = {{"perm", std::vector<int64_t>{1, 0, 2, 3}}}});
  }
  if (y.rank() != 4)
    result = p.add({.type = "Reshape", .inputs = {result, p.constant(int64_tensor(*target), "shape")}});
  p.replace(rows || turned ? turn->outputs[0] : out, result);
  if (parts.k.past != ValueId::none) {
    p.replace(parts.k.present, made[1]);
    p.replace(parts.v.present, made[2]);
  }
  return true;
}

std::optional<Patch> attention(const Graph& g, const Node& n, bool joined) {
  const Shape* y = shape_of(g, n.outputs[0]);
  if (!y || y->rank() < 3 || y->rank() > 4 || !is_float32(g, n.outputs[0])) return std::nullopt;
  Parts parts;
  const Node* softmax = find_softmax(g, n.inputs[0], parts.guarded);
  if (!softmax || !over_last_axis(g, *softmax) || !find_product(g, softmax->inputs[0], parts.scores, 6))
    return std::nullopt;
  const auto q = head_operand(g, parts.scores.product->inputs[0], false);
  const auto k = cached_operand(g, parts.scores.product->inputs[1], true, joined);
  const auto v = cached_operand(g, n.inputs[1], false, joined);
  if (!q || !k || !v || v->fresh.factor != 1) return std::nullopt;
  parts.q = *q;
  parts.k = *k;
  parts.v = *v;
  if (!fit(parts) || (parts.scores.windows && !is_shared(g, parts.scores.bias))) return std::nullopt;
  Patch p(g);
  parts.masks = {parts.scores.bias, parts.scores.flags};
  if (parts.scores.windows) parts.scores.bias = window_bias(parts.scores, p);
  if (y->rank() == 3 && (!part_mask(g, *q, parts.scores.bias, p) || !part_mask(g, *q, parts.scores.flags, p)))
    return std::nullopt;
  if (!connect_result(g, n, make_spec(parts), p, parts)) return std::nullopt;
  p.covers(n.id);
  p.covers(softmax->id);
  for (NodeId id : parts.scores.nodes) p.covers(id);
  return p;
}

std::optional<Patch> match_attention(const Graph& g, const Node& n) {
  auto p = attention(g, n, true);
  return p ? std::move(p) : attention(g, n, false);
}

// What ONNX's operator has beyond the one of retort: causal masks, windows, caps, and all outputs but the first.
bool is_bare(const Graph& g, const Node& n) {
  const auto number = [&](const char* name, int64_t otherwise) {
    return n.attributes.get_or<int64_t>(name, otherwise);
  };
  for (size_t i = 1; i < n.outputs.size(); ++i) {
    if (n.outputs[i] != ValueId::none && g.use_count(n.outputs[i]) > 0) return false;
  }
  for (size_t i = 4; i < n.inputs.size(); ++i) {
    if (n.inputs[i] != ValueId::none) return false;
  }
  return number("is_causal", 0) == 0 && number("left_window_size", -1) < 0 && number("right_window_size", -1) < 0 &&
         n.attributes.get_or<float>("softcap", 0) == 0;
}

// Takes a mask of one column per key.
bool take_mask(const Graph& g, ValueId mask, Dim keys, Scores& s) {
  if (mask == ValueId::none) return true;
  const Shape* shape = shape_of(g, mask);
  if (!shape || shape->empty() || shape->rank() > 4 || shape->back() != keys) return false;
  const bool flags = g.value(mask).type.dtype == DType::boolean;
  (flags ? s.flags : s.bias) = mask;
  s.hidden = -std::numeric_limits<double>::infinity();
  return flags || is_float32(g, mask);
}

// ONNX's operator on heads that are views, as newer exporters of torch write it.
std::optional<Patch> onnx_attention(const Graph& g, const Node& n, bool joined) {
  const Shape *y = shape_of(g, n.outputs[0]), *keys = shape_of(g, n.inputs[1]);
  if (!y || y->rank() != 4 || !keys || keys->rank() != 4 || !is_float32(g, n.outputs[0]) || !is_bare(g, n))
    return std::nullopt;
  const auto q = head_operand(g, n.inputs[0], false);
  const auto k = cached_operand(g, n.inputs[1], false, joined), v = cached_operand(g, n.inputs[2], false, joined);
  if (!q || !k || !v || v->fresh.factor != 1) return std::nullopt;
  Parts parts{.q = *q, .k = *k, .v = *v, .guarded = true};
  const bool moved = q->base != n.inputs[0] || k->fresh.base != n.inputs[1] || v->fresh.base != n.inputs[2];
  // Heads of K may be repeated before the operator, which repeats them itself.
  const int64_t repeat = q->heads / k->fresh.heads;
  if (!moved || k->repeat != v->repeat || repeat % k->repeat != 0) return std::nullopt;
  parts.k.repeat = parts.v.repeat = repeat;
  const float* scale = n.attributes.get<float>("scale");
  parts.scores.scale = scale ? double(*scale) : 1 / std::sqrt(double(q->size));
  if (!fit(parts) || !take_mask(g, n.input(3), (*keys)[2], parts.scores)) return std::nullopt;
  Patch p(g);
  if (!connect_result(g, n, make_spec(parts), p, parts)) return std::nullopt;
  p.covers(n.id);
  return p;
}

std::optional<Patch> match_onnx_attention(const Graph& g, const Node& n) {
  auto p = onnx_attention(g, n, true);
  return p ? std::move(p) : onnx_attention(g, n, false);
}

constexpr Rule kAttentionRules[] = {
    {"attention", "MatMul", match_attention, {RuleStage::attention}},
    {"attention_of_views", "Attention", match_onnx_attention, {RuleStage::attention}},
};

}  // namespace

extern const Rules rules_attention;
constinit const Rules rules_attention{kAttentionRules};

}  // namespace retort
