#include "ops/nn/common/delta_net.h"

#include "kernels/attention/state.h"
#include "kernels/move/transpose_tile.h"

namespace retort::ops {
namespace {

float softplus(float x) { return std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x))); }

bool is_sigmoid(std::string_view gate) { return gate == "sigmoid" || gate == "kda"; }

/// The leading axes, which count tokens: [tokens] or [batch, rows].
Shape token_axes(const InferContext& c, size_t own) {
  const Shape& q = c.shape(DeltaNet::kQ);
  require(q.rank() == own + 1 || q.rank() == own + 2, ErrorCode::invalid_argument,
          "query has {} axes, expected {} or {}", q.rank(), own + 1, own + 2);
  Shape axes;
  for (size_t i = 0; i + own < q.rank(); ++i) axes.push_back(q[i]);
  return axes;
}

Shape with(Shape axes, std::initializer_list<Dim> more) {
  for (const Dim d : more) axes.push_back(d);
  return axes;
}

struct Sizes {
  Dim q_heads, heads, keys, values;
};

// Numbers and sizes of heads; if Q, K and V are packed, they follow from the shape of the state.
Sizes sizes_of(const InferContext& c) {
  using D = DeltaNet;
  DimTable& d = c.dims();
  require(c.has(D::kK) == c.has(D::kV), ErrorCode::invalid_argument, "key is {}, value {}; give both or none",
          c.has(D::kK) ? "given" : "missing", c.has(D::kV) ? "given" : "missing");
  if (c.has(D::kK)) {
    const Shape &q = c.shape(D::kQ), &v = c.shape(D::kV);
    require(q.rank() >= 2 && v.rank() >= 2, ErrorCode::invalid_argument, "query and value have {} and {} axes",
            q.rank(), v.rank());
    return {q[q.rank() - 2], v[v.rank() - 2], q.back(), v.back()};
  }
  require(c.has(D::kState) && c.rank(D::kState) == 4, ErrorCode::invalid_argument,
          "Q, K and V side by side need initial_state [requests, heads, values, keys]");
  const Shape& s = c.shape(D::kState);
  const Dim width = c.shape(D::kQ).back(), own = d.mul(s[1], s[2]);
  if (!is_known(width) || !is_known(own) || !is_known(s[3])) return {c.unknown_extent(), s[1], s[3], s[2]};
  const Dim rest = width - own;
  require(rest > 0 && s[3] > 0 && rest % (2 * s[3]) == 0, ErrorCode::invalid_argument,
          "Q, K and V have rows of {} elements, which do not match the state of shape {}", width, d.text(s));
  return {rest / (2 * s[3]), s[1], s[3], s[2]};
}

// Number of requests: that of cu_seqlens, or the extent of the batch, or that of the state.
Dim requests_of(const InferContext& c, const Shape& axes) {
  constexpr size_t kStarts = DeltaNet::kStarts, kState = DeltaNet::kState;
  if (c.has(kStarts)) {
    require(c.rank(kStarts) == 1 && may_equal(c.shape(kStarts)[0], std::max<Dim>(c.shape(kStarts)[0], 1)),
            ErrorCode::invalid_argument, "cu_seqlens have shape {}, expected [requests + 1]",
            c.dims().text(c.shape(kStarts)));
    return c.dims().sub(c.shape(kStarts)[0], 1);
  }
  if (axes.rank() > 1) return axes[0];
  return c.rank(kState) > 0 ? c.shape(kState)[0] : c.unknown_extent();
}

}  // namespace

void DeltaNet::check() const {
  rule();
  require(gate_activation == "none" || gate_activation == "softplus" || gate_activation == "qwen" ||
              is_sigmoid(gate_activation),
          ErrorCode::invalid_argument,
          "gate_activation is \"{}\", expected \"none\", \"softplus\", \"qwen\", \"sigmoid\" or \"kda\"",
          gate_activation);
  require(beta_activation == "none" || beta_activation == "sigmoid", ErrorCode::invalid_argument,
          "beta_activation is \"{}\", expected \"none\" or \"sigmoid\"", beta_activation);
  require(state_update_capacity >= 0 && state_update_capacity <= 8, ErrorCode::invalid_argument,
          "state_update_capacity is {}, expected a number from 0 to 8", state_update_capacity);
}

void DeltaNet::infer(InferContext& c) const {
  c.set(0, c.dtype(kQ));
  for (const size_t i : {1, 2}) c.set(i, DType::f32);
  const Sizes s = sizes_of(c);
  const Shape axes = token_axes(c, c.has(kK) ? 2 : 1);
  require(!c.has(kStarts) || axes.rank() == 1, ErrorCode::invalid_argument,
          "cu_seqlens are for tokens on one axis, query has {} axes", c.rank(kQ));
  c.set(0, c.dtype(kQ), with(axes, {s.heads, s.values}));
  if (c.has(kK)) {
    expect_shape(c, kK, "key", c.shape(kQ));
    expect_shape(c, kV, "value", with(axes, {s.heads, s.values}));
  }
  require(!is_known(s.heads) || !is_known(s.q_heads) || (s.q_heads > 0 && s.heads > 0 && s.heads % s.q_heads == 0),
          ErrorCode::invalid_argument, "{} heads of values for {} of queries", c.dims().text(s.heads),
          c.dims().text(s.q_heads));
  require(c.has(kDecay) == rule().decays && c.has(kBeta) == rule().corrects, ErrorCode::invalid_argument,
          "update_rule {}: decay is {}, beta {}", update_rule, c.has(kDecay) ? "given" : "missing",
          c.has(kBeta) ? "given" : "missing");
  const bool each = c.has(kDecay) && c.rank(kDecay) == axes.rank() + 2;
  if (c.has(kDecay)) expect_shape(c, kDecay, "decay", each ? with(axes, {s.heads, s.keys}) : with(axes, {s.heads}));
  if (c.has(kBeta)) expect_shape(c, kBeta, "beta", with(axes, {s.heads}));
  for (const size_t i : {kDecay, kBeta})
    require(!c.has(i) || c.dtype(i) == DType::f32 || c.dtype(i) == c.dtype(kQ), ErrorCode::invalid_argument,
            "decay and beta are of type {}, expected that of query or float32", c.has(i) ? dtype_name(c.dtype(i)) : "");
  const bool gated = gate_activation != "none";
  require(c.has(kLog) == gated && c.has(kBias) == gated, ErrorCode::invalid_argument,
          "gate_activation {}: a_log is {}, dt_bias {}", gate_activation, c.has(kLog) ? "given" : "missing",
          c.has(kBias) ? "given" : "missing");
  if (gated) expect_shape(c, kLog, "a_log", {s.heads});
  require(c.has(kCount) == (state_update_capacity > 0), ErrorCode::invalid_argument,
          "state_update_capacity is {}, capture_count is {}", state_update_capacity,
          c.has(kCount) ? "given" : "missing");
  require(c.has(kStarts) || axes.rank() == 2 || c.has(kState), ErrorCode::invalid_argument,
          "without cu_seqlens, initial_state tells the number of requests");
  const Dim requests = requests_of(c, axes);
  const Shape state{requests, s.heads, s.values, s.keys};
  if (c.has(kState)) expect_shape(c, kState, "initial_state", state);
  if (c.has(kCount)) expect_shape(c, kCount, "capture_count", {requests});
  c.set(1, DType::f32, state);
  DimTable& d = c.dims();
  const Dim width =
      d.add(each ? d.mul(s.heads, s.keys) : s.heads, d.add(d.mul(s.q_heads, s.keys), d.mul(s.heads, s.values)));
  c.set(2, DType::f32, {requests, d.mul(width, state_update_capacity)});
}

Cost DeltaNet::cost(const CostContext& c) const {
  const double keys = c.has(kK) ? c.extent(kQ, -1) : c.extent(kState, -1);
  const double token = c.out_extent(0, -2) * c.out_extent(0, -1) * keys;
  const double tokens = c.out_count() / (c.out_extent(0, -2) * c.out_extent(0, -1));
  return {.multiply_adds = tokens * token * (2 + rule().corrects + 0.5 * rule().decays)};
}

DeltaExtents DeltaNet::extents(const RunContext& c) const {
  const Shape &q = c.shape(kQ), &y = c.out_shape(0);
  const bool packed = !c.has(kK);
  const size_t own = packed ? 1 : 2;
  DeltaExtents e{};
  e.packed = packed;
  e.tokens = size_t(extent_product(q, 0, q.rank() - own));
  e.heads = size_t(y[y.rank() - 2]);
  e.values = size_t(y.back());
  e.keys = size_t(packed ? c.shape(kState)[3] : q.back());
  e.q_heads = size_t(packed ? (q.back() - y[y.rank() - 2] * y.back()) / (2 * c.shape(kState)[3]) : q[q.rank() - 2]);
  e.each = c.has(kDecay) && c.shape(kDecay).rank() == q.rank() - own + 2;
  if (c.has(kStarts)) {
    const auto starts = c.input<int32_t>(kStarts);
    require(!starts.empty() && starts.front() == 0 && size_t(starts.back()) == e.tokens &&
                std::is_sorted(starts.begin(), starts.end()),
            ErrorCode::invalid_argument, "cu_seqlens do not rise from 0 to {}", e.tokens);
    e.requests = starts.size() - 1;
  } else {
    e.requests = size_t(q.rank() == own + 2 ? q[0] : c.shape(kState)[0]);
    require(e.requests > 0 ? e.tokens % e.requests == 0 : e.tokens == 0, ErrorCode::invalid_argument,
            "{} tokens for {} requests", e.tokens, e.requests);
  }
  if (gate_activation != "none") {
    const size_t bias = c.count(kBias);
    require(bias == e.heads || (e.each && bias == e.heads * e.keys), ErrorCode::invalid_argument,
            "dt_bias has {} elements for {} heads of {} keys", bias, e.heads, e.keys);
  }
  return e;
}

void DeltaNet::fill_decay(const RunContext& c, const DeltaExtents& e, const DeltaTensors& t) const {
  if (!c.has(kDecay)) return;
  const std::vector<double> given = load_floats(c, kDecay);
  const float *log = c.optional<float>(kLog), *bias = c.optional<float>(kBias);
  const size_t width = e.decay_width(), per_head = e.each ? e.keys : 1;
  const bool whole = bias && c.count(kBias) == width;
  for (size_t i = 0; i < given.size(); ++i) {
    const size_t h = i % width / per_head;
    const auto x = float(given[i]);
    if (!log) {
      t.decay[i] = x;
      continue;
    }
    const float rate = std::exp(log[h]), shifted = x + bias[whole ? i % width : h];
    t.decay[i] = is_sigmoid(gate_activation) ? gate_lower_bound * sigmoid(rate * shifted) : -rate * softplus(shifted);
  }
}

DeltaTensors DeltaNet::tensors(const RunContext& c, const DeltaExtents& e, float* memory) const {
  DeltaTensors t{};
  const size_t q = e.q_heads * e.keys, v = e.heads * e.values;
  t.q = c.input<float>(kQ).data();
  t.k = e.packed ? t.q + q : c.input<float>(kK).data();
  t.v = e.packed ? t.k + q : c.input<float>(kV).data();
  t.q_row = t.k_row = e.packed ? 2 * q + v : q;
  t.v_row = e.packed ? 2 * q + v : v;
  t.y = c.output<float>(0).data();
  const auto take = [&](size_t count) { return std::exchange(memory, memory + count); };
  const size_t states = e.requests * e.heads * e.keys * e.values;
  t.state = take(states);
  if (c.wants(1)) t.state = c.output<float>(1).data();
  t.decay = take(e.tokens * e.decay_width());
  t.beta = take(e.tokens * e.heads);
  t.work = memory;
  const float* past = c.optional<float>(kState);
  if (!past) std::fill_n(t.state, states, 0.0f);
  if (past && past != t.state) std::copy_n(past, states, t.state);
  fill_decay(c, e, t);
  if (c.has(kBeta)) {
    const std::vector<double> beta = load_floats(c, kBeta);
    for (size_t i = 0; i < beta.size(); ++i)
      t.beta[i] = beta_activation == "sigmoid" ? sigmoid(float(beta[i])) : float(beta[i]);
  }
  t.starts = c.optional<int32_t>(kStarts);
  if (c.wants(2)) {
    t.update = c.output<float>(2).data();
    std::fill_n(t.update, c.out_count(2), 0.0f);
    const bool active = !c.has(kActive) || c.count(kActive) == 0 || c.input<int32_t>(kActive)[0] != 0;
    t.captured = active ? c.optional<int32_t>(kCount) : nullptr;
  }
  return t;
}

void DeltaNet::keep_update(const DeltaExtents& e, const DeltaTensors& t, size_t head, const Update& u) const {
  const auto capacity = size_t(state_update_capacity);
  const size_t h = head % e.heads, ratio = e.heads / e.q_heads, per_head = e.each ? e.keys : 1;
  float* at = t.update + head / e.heads * capacity * e.update_width();
  float* decays = at + u.slot * e.decay_width() + h * per_head;
  for (size_t i = 0; i < per_head; ++i)
    decays[i] = rule().decays ? std::exp(t.decay[(u.token * e.heads + h) * per_head + i]) : 1.0f;
  at += capacity * e.decay_width();
  if (h % ratio == 0) std::copy_n(u.key, e.keys, at + (u.slot * e.q_heads + h / ratio) * e.keys);
  at += capacity * e.q_heads * e.keys;
  std::copy_n(u.added, e.values, at + (u.slot * e.heads + h) * e.values);
}

DeltaNet::Head DeltaNet::head_at(const DeltaExtents& e, const DeltaTensors& t, size_t head) const {
  const size_t request = head / e.heads, h = head % e.heads, each = e.requests ? e.tokens / e.requests : 0;
  return {h, h / (e.heads / e.q_heads), t.starts ? size_t(t.starts[request]) : request * each,
          t.starts ? size_t(t.starts[request + 1]) : (request + 1) * each,
          std::clamp<int64_t>(t.captured ? t.captured[request] : 0, 0, state_update_capacity)};
}

// A query or a key.
void DeltaNet::load(const float* from, size_t keys, float* to) const {
  float squares = 0;
  for (size_t i = 0; i < keys; ++i) squares += from[i] * from[i];
  const float by = qk_l2_norm ? 1 / std::sqrt(squares + 1e-12f) : 1;
  for (size_t i = 0; i < keys; ++i) to[i] = from[i] * by;
}

void DeltaNet::run_head(const DeltaExtents& e, const DeltaTensors& t, size_t head) const {
  const auto [h, shared, first, last, captured] = head_at(e, t, head);
  const LinearRule r = rule();
  const LinearState s{t.state + head * e.keys * e.values, e.keys, e.values, 1, e.keys};
  float *q = t.work + head * (2 * e.keys + e.values), *k = q + e.keys, *added = k + e.keys;
  for (size_t token = first; token < last; ++token) {
    load(t.q + token * t.q_row + shared * e.keys, e.keys, q);
    load(t.k + token * t.k_row + shared * e.keys, e.keys, k);
    if (r.decays) s.decay(t.decay + (token * e.heads + h) * (e.each ? e.keys : 1), e.each);
    s.learn(r, k, t.v + token * t.v_row + h * e.values, r.corrects ? t.beta[token * e.heads + h] : 1, added);
    s.read(q, factor(e), t.y + (token * e.heads + h) * e.values);
    if (int64_t(token - first) < captured) keep_update(e, t, head, {token, token - first, k, added});
  }
}

void DeltaNet::run_blocks(const DeltaExtents& e, const DeltaTensors& t, size_t head, float* memory) const {
  const auto [h, shared, first, last, captured] = head_at(e, t, head);
  if (captured > 0 || first == last) return run_head(e, t, head);
  const LinearRule r = rule();
  const size_t decays = e.each ? e.keys : 1;
  float *state = memory, *q = state + e.keys * e.values, *k = q + kBlock * e.keys, *factors = k + kBlock * e.keys;
  float* const kept = t.state + head * e.keys * e.values;
  const auto turn = kernels::transpose_fn(sizeof(float));  // the kernel's states are [keys, values]
  turn({state, ptrdiff_t(e.values), kept, ptrdiff_t(e.keys), e.keys, e.values});
  for (size_t token = first, n; token < last; token += n) {
    n = std::min(kBlock, last - token);
    for (size_t i = 0; i < n; ++i) {
      load(t.q + (token + i) * t.q_row + shared * e.keys, e.keys, q + i * e.keys);
      load(t.k + (token + i) * t.k_row + shared * e.keys, e.keys, k + i * e.keys);
      const float* const given = t.decay + ((token + i) * e.heads + h) * decays;
      for (size_t d = 0; r.decays && d < decays; ++d) factors[i * decays + d] = std::exp(given[d]);
    }
    kernels::run_tokens({.keys = e.keys,
                         .values = e.values,
                         .tokens = n,
                         .k = k,
                         .v = t.v + token * t.v_row + h * e.values,
                         .factors = r.decays ? factors : nullptr,
                         .beta = r.corrects ? t.beta + token * e.heads + h : nullptr,
                         .k_step = e.keys,
                         .v_step = t.v_row,
                         .factor_step = decays,
                         .beta_step = e.heads,
                         .each = e.each,
                         .corrects = r.corrects,
                         .q = q,
                         .y = t.y + (token * e.heads + h) * e.values,
                         .q_step = e.keys,
                         .y_step = e.heads * e.values,
                         .scale = factor(e)},
                        state);
  }
  turn({kept, ptrdiff_t(e.keys), state, ptrdiff_t(e.values), e.values, e.keys});
}

}  // namespace retort::ops
