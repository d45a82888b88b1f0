#include "lift/head_attention.h"

#include <algorithm>

#include "base/error.h"
#include "ops/op.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

ValueId with_bias(Rewriter& r, ValueId x, ValueId bias) { return r.add({.type = "Add", .inputs = {x, bias}}); }

bool has_rank(Rewriter& r, size_t i, size_t rank) {
  return !r.has(i) || (r.type(i).ranked && r.type(i).rank() == rank);
}

// Adds the bias, whose parts are as long as rows of Q, K and V. Returns false if it is not known to fit.
bool add_bias(Rewriter& r, ValueId (&qkv)[3]) {
  if (!r.has(3)) return true;
  const Dim q = r.type(0).shape[2], v = r.type(2).shape[2];
  if (!is_known(q) || !is_known(v) || !has_rank(r, 3, 1)) return false;
  const Dim whole = r.type(3).shape[0];
  if (whole != 2 * q + v) return false;
  const auto parts = r.add_all({.type = "Split",
                                .inputs = {r.input(3), r.constant(Ints{q, q, v})},
                                .attributes = {{"axis", int64_t(0)}},
                                .outputs = 3});
  for (size_t i = 0; i < 3; ++i) qkv[i] = with_bias(r, qkv[i], parts[i]);
  return true;
}

// The past keys (0) or values (1).
ValueId half(Rewriter& r, ValueId past, int64_t which) {
  return r.add({.type = "Gather",
                .inputs = {past, r.constant(Tensor::of<int64_t>({}, {which}))},
                .attributes = {{"axis", int64_t(0)}}});
}

}  // namespace

void use_standard_attention(Rewriter& r) {
  for (const size_t i : {0, 1, 2}) {
    if (!r.has(i) || !has_rank(r, i, 3)) return;
  }
  const bool causal = r.attributes().get_or<int64_t>("unidirectional", 0) != 0;
  const int64_t heads = r.attributes().get_or<int64_t>("num_heads", 0);
  const Dim rows = r.type(0).shape[1], keys = r.type(1).shape[1];
  if (heads <= 0 || r.has(4) || r.has(8) || r.has(9) || r.output_used(3) || (causal && rows != keys)) return;
  if (!has_rank(r, 5, 4) || !has_rank(r, 6, 4) || !has_rank(r, 7, 4) || r.has(6) != r.has(7)) return;
  if (r.type(0).shape[2] != r.type(1).shape[2]) return;
  if (r.has(6) && r.type(0).shape[2] != r.type(2).shape[2]) return;
  if (r.has(5)) {  // for a bias that does not fit, the node stays, and its kernel reports the error
    const Shape& bias = r.type(5).shape;
    if (!is_known(bias[1]) || (bias[1] != 1 && bias[1] != heads) || bias[2] != rows) return;
    if (bias[3] == 1 || (!r.has(6) && bias[3] != keys)) return;
  }
  ValueId qkv[3] = {r.input(0), r.input(1), r.input(2)};
  if (!add_bias(r, qkv)) return;
  Attributes a{{"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", int64_t(causal)}};
  if (const float scale = r.attributes().get_or<float>("scale", 0); scale != 0) a.set("scale", scale);
  const size_t outputs = r.output_used(1) || r.output_used(2) ? 3 : 1;
  std::vector<ValueId> inputs = {qkv[0], qkv[1], qkv[2], r.input(5), r.input(6), r.input(7)};
  while (inputs.back() == ValueId::none) inputs.pop_back();
  const auto made = r.add_all({.type = "Attention", .inputs = inputs, .attributes = a, .outputs = outputs});
  for (size_t i = 0; i < outputs; ++i) r.replace_output(i, made[i]);
  r.remove();
}

void attend_together(Rewriter& r, const PackedAttention& attention) {
  const auto input = [&](size_t i) { return i != PackedAttention::kNone && r.has(i) ? r.input(i) : ValueId::none; };
  std::vector<ValueId> inputs(10, ValueId::none);
  std::copy(attention.qkv.begin(), attention.qkv.end(), inputs.begin());
  inputs[4] = input(attention.mask);
  inputs[5] = input(attention.bias);
  inputs[8] = input(attention.past_rows);
  if (const ValueId past = input(attention.past); past != ValueId::none) {
    inputs[6] = half(r, past, 0);
    inputs[7] = half(r, past, 1);
  }
  while (inputs.back() == ValueId::none) inputs.pop_back();
  NodeSpec spec{.type = "MultiHeadAttention", .inputs = inputs, .domain = "com.microsoft"};
  for (const char* name : {"num_heads", "scale", "unidirectional", "mask_filter_value"}) {
    if (const Attribute* given = r.attributes().find(name)) spec.attributes.set(name, *given);
  }
  const bool keeps = r.output_used(1);
  spec.outputs = keeps ? 3 : 1;
  const auto made = r.add_all(std::move(spec));
  r.replace_output(0, made[0]);
  if (keeps) {
    std::vector<ValueId> both;
    for (const size_t i : {1, 2})
      both.push_back(r.add({.type = "Unsqueeze", .inputs = {made[i], r.constant(Ints{0})}}));
    r.replace_output(1, r.add({.type = "Concat", .inputs = both, .attributes = {{"axis", int64_t(0)}}}));
  }
  r.remove();
  Rewriter next(r.graph(), r.graph().value(made[0]).producer);
  use_standard_attention(next);
}

}  // namespace retort
