// LinearAttention of ai.onnx and of com.microsoft. Heads lie side by side, and each head of keys and values has a
// state. In com.microsoft, there may be more heads of keys and values than of queries, and fewer heads of keys than of
// values.
#pragma once
#include <algorithm>

#include "kernels/attention/state.h"
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

  // One head of keys and values of one row of the batch. `factors` has room for those of all its tokens.
  void run_head(const RunContext& c, const Extents& e, size_t head, float* state, float* factors) const {
    const size_t b = head / e.heads, h = head % e.heads, row = b * e.tokens, out = e.out_heads();
    const LinearRule rule = LinearRule::of(update_rule);
    const size_t k_head = h / (e.heads / e.k_heads), decays = decays_of(c, e);
    // Output heads that read this state, and the first head of queries among them.
    const bool several = e.heads < e.q_heads;
    const size_t count = several ? e.q_heads / e.heads : 1, first = several ? h * count : h;
    const size_t q_head = several ? first : h / (e.heads / e.q_heads);
    for (size_t t = 0; t < (rule.decays ? e.tokens : 0); ++t) {
      const float* by = c.input<float>(kDecay).data() + ((row + t) * e.heads + h) * decays;
      for (size_t i = 0; i < decays; ++i) factors[t * decays + i] = std::exp(by[i]);
    }
    const bool one_beta = rule.corrects && c.shape(kBeta)[2] == 1;
    const size_t beta_step = one_beta ? 1 : e.heads;
    const auto at = [&](size_t input, size_t heads, size_t of, size_t size) {
      return c.input<float>(input).data() + (row * heads + of) * size;
    };
    kernels::run_tokens({.keys = e.keys,
                         .values = e.values,
                         .tokens = e.tokens,
                         .k = at(kK, e.k_heads, k_head, e.keys),
                         .v = at(kV, e.heads, h, e.values),
                         .factors = rule.decays ? factors : nullptr,
                         .beta = rule.corrects ? at(kBeta, beta_step, one_beta ? 0 : h, 1) : nullptr,
                         .k_step = e.k_heads * e.keys,
                         .v_step = e.heads * e.values,
                         .factor_step = decays,
                         .beta_step = beta_step,
                         .each = decays != 1,
                         .corrects = rule.corrects,
                         .q = at(kQ, e.q_heads, q_head, e.keys),
                         .y = c.output<float>(0).data() + (row * out + first) * e.values,
                         .q_step = e.q_heads * e.keys,
                         .y_step = out * e.values,
                         .queries = count,
                         .scale = scale != 0 ? scale : 1 / std::sqrt(float(e.keys))},
                        state);
  }
  // The factors of a token and a head: none, one, or one for each key.
  size_t decays_of(const RunContext& c, const Extents& e) const {
    if (!LinearRule::of(update_rule).decays) return 0;
    return c.shape(kDecay)[2] == kv_num_heads ? 1 : e.keys;
  }
  void compute(RunContext& c) const {
    const Extents e = extents(c);
    const size_t heads = e.batch * e.heads, size = e.keys * e.values, factors = e.tokens * decays_of(c, e);
    // The output has room for the state, if it has its type.
    const bool direct = c.wants(1) && c.out_dtype(1) == DType::f32;
    std::vector<float> own(direct ? 0 : heads * size), scratch(heads * factors);
    float* const state = direct ? c.output<float>(1).data() : own.data();
    if (c.has(kState) && c.dtype(kState) == DType::f32) {
      std::ranges::copy(c.input<float>(kState), state);
    } else if (c.has(kState)) {
      std::ranges::copy(load_floats(c, kState), state);
    } else {
      std::fill_n(state, heads * size, 0.0f);
    }
    c.parallel().for_each(
        heads, [&](size_t head, int) { run_head(c, e, head, state + head * size, scratch.data() + head * factors); });
    if (!direct) fill_floats(c, 1, [&](size_t i) { return double(own[i]); });
  }
};

}  // namespace retort::ops
