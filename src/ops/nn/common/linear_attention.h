// LinearAttention of ai.onnx and of com.microsoft. Heads lie side by side, and each head of keys and values has a
// state. In com.microsoft, there may be more heads of keys and values than of queries, and fewer heads of keys than of
// values.
#pragma once
#include "ops/nn/common/linear_recurrence.h"
#include "ops/nn/common/load.h"
#include "ops/nn/common/rounded.h"

namespace retort::ops {

struct LinearAttentionBase {
  enum Input : size_t { kQ, kK, kV, kState, kDecay, kBeta };
  int64_t q_num_heads = 0, kv_num_heads = 0, chunk_size = 64;
  float scale = 0;
  std::string update_rule = "gated_delta";

  void check_attributes() const {
    require(q_num_heads > 0 && kv_num_heads > 0, ErrorCode::invalid_argument,
            "q_num_heads is {}, kv_num_heads {}; expected positive numbers", q_num_heads, kv_num_heads);
    LinearRule::of(update_rule);
  }
  static Dim divide(InferContext& c, size_t i, Dim parts) {
    const Dim whole = c.shape(i)[2];
    require(!is_known(whole) || !is_known(parts) || (parts > 0 && whole % parts == 0), ErrorCode::invalid_argument,
            "input {} has rows of {} elements, expected a multiple of {}", i, c.dims().text(whole),
            c.dims().text(parts));
    return c.dims().div(whole, parts);
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(kQ));
    c.set(1, c.has(kState) ? c.dtype(kState) : c.dtype(kQ));
    DimTable& d = c.dims();
    for (const size_t i : {kQ, kK, kV})
      require(c.rank(i) == 3, ErrorCode::invalid_argument, "input {} has {} axes, expected 3", i, c.rank(i));
    const Shape q = c.shape(kQ);
    const Dim keys = divide(c, kQ, q_num_heads), values = divide(c, kV, kv_num_heads);
    if (is_known(keys)) divide(c, kK, keys);
    for (const size_t i : {kK, kV}) expect_shape(c, i, "a row of keys or values", {q[0], q[1], c.shape(i)[2]});
    c.set(0, c.dtype(kQ), {q[0], q[1], d.mul(values, std::max(q_num_heads, kv_num_heads))});
    const Shape state{q[0], kv_num_heads, keys, values};
    c.set(1, c.has(kState) ? c.dtype(kState) : c.dtype(kQ), state);
    if (c.has(kState)) expect_shape(c, kState, "past_state", state);
    const LinearRule rule = LinearRule::of(update_rule);
    require((!rule.decays || c.has(kDecay)) && (!rule.corrects || c.has(kBeta)), ErrorCode::invalid_argument,
            "update_rule {} needs {}", update_rule, rule.decays && !c.has(kDecay) ? "decay" : "beta");
    if (rule.decays) {
      const Dim last = c.rank(kDecay) == 3 ? c.shape(kDecay)[2] : Dim(0);
      const bool scalar = may_equal(last, kv_num_heads);
      expect_shape(c, kDecay, "decay", {q[0], q[1], scalar ? Dim(kv_num_heads) : d.mul(keys, kv_num_heads)});
    }
    if (rule.corrects) {
      const bool one = c.rank(kBeta) == 3 && c.shape(kBeta)[2] == 1;
      expect_shape(c, kBeta, "beta", {q[0], q[1], one ? Dim(1) : Dim(kv_num_heads)});
    }
  }
  // The state is read, written and multiplied for each token.
  Cost cost(const CostContext& c) const {
    const double state = c.out_count(1) / c.extent(kQ, 0), tokens = c.extent(kQ, 0) * c.extent(kQ, 1);
    const LinearRule rule = LinearRule::of(update_rule);
    return {.multiply_adds = tokens * state * (2 + rule.corrects + 0.5 * rule.decays)};
  }

  struct Extents {
    size_t batch, tokens, q_heads, k_heads, heads, keys, values;
    size_t out_heads() const { return std::max(q_heads, heads); }
    // The state and the head of keys that output head h reads.
    size_t state_of(size_t h) const { return heads >= q_heads ? h : h / (q_heads / heads); }
  };
  Extents extents(const RunContext& c) const {
    const Shape& q = c.shape(kQ);
    Extents e{.batch = size_t(q[0]),
              .tokens = size_t(q[1]),
              .q_heads = size_t(q_num_heads),
              .k_heads = 1,
              .heads = size_t(kv_num_heads),
              .keys = size_t(q[2] / q_num_heads),
              .values = size_t(c.shape(kV)[2] / kv_num_heads)};
    e.k_heads = e.keys ? size_t(c.shape(kK)[2]) / e.keys : e.heads;
    const bool fits =
        e.k_heads > 0 && e.heads % e.k_heads == 0 && (e.q_heads % e.heads == 0 || e.heads % e.q_heads == 0);
    require(fits, ErrorCode::invalid_argument,
            "{} heads of queries, {} of keys and {} of values are not multiples of each other", e.q_heads, e.k_heads,
            e.heads);
    return e;
  }

  // One head of keys and values of one row of the batch.
  void run_head(const RunContext& c, const Extents& e, size_t head, float* state, float* added) const {
    const size_t b = head / e.heads, h = head % e.heads;
    const LinearRule rule = LinearRule::of(update_rule);
    const LinearState s{state + head * e.keys * e.values, e.keys, e.values, e.values, 1};
    const bool each = rule.decays && c.shape(kDecay)[2] != kv_num_heads;
    const bool one_beta = rule.corrects && c.shape(kBeta)[2] == 1;
    const float factor = scale != 0 ? scale : 1 / std::sqrt(float(e.keys));
    const size_t ratio = e.heads / e.k_heads, k_head = h / ratio, out = e.out_heads();
    const size_t first = e.heads >= e.q_heads ? h : h * (e.q_heads / e.heads),
                 count = std::max(out / e.heads, size_t(1));
    for (size_t t = 0; t < e.tokens; ++t) {
      const size_t row = b * e.tokens + t;
      if (rule.decays) s.decay(c.input<float>(kDecay).data() + (row * e.heads + h) * (each ? e.keys : 1), each);
      const float beta = rule.corrects ? c.input<float>(kBeta)[one_beta ? row : row * e.heads + h] : 1;
      s.learn(rule, c.input<float>(kK).data() + (row * e.k_heads + k_head) * e.keys,
              c.input<float>(kV).data() + (row * e.heads + h) * e.values, beta, added);
      for (size_t i = first; i < first + count; ++i) {
        const size_t q = e.heads >= e.q_heads ? i / (e.heads / e.q_heads) : i;
        s.read(c.input<float>(kQ).data() + (row * e.q_heads + q) * e.keys, factor,
               c.output<float>(0).data() + (row * out + i) * e.values);
      }
    }
  }
  void compute(RunContext& c) const {
    const Extents e = extents(c);
    const size_t heads = e.batch * e.heads;
    std::vector<float> state(heads * e.keys * e.values), added(heads * e.values);
    if (c.has(kState)) {
      const std::vector<double> past = load_floats(c, kState);
      std::copy(past.begin(), past.end(), state.begin());
    }
    c.parallel().for_each(
        heads, [&](size_t head, int) { run_head(c, e, head, state.data(), added.data() + head * e.values); });
    fill_floats(c, 1, [&](size_t i) { return double(state[i]); });
  }
};

}  // namespace retort::ops
