// com.microsoft.Attention: a product that makes Q, K and V, then MultiHeadAttention, whose caches are two tensors.
// com.microsoft.MultiHeadAttention: the Attention of ai.onnx if there is no padding and no buffer.
#include "base/error.h"
#include "lift/rewriter.h"
#include "ops/op.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

std::vector<ValueId> add_all(Rewriter& r, NodeSpec spec) {
  const ValueId first = r.add(std::move(spec));
  return r.graph().node(r.graph().value(first).producer).outputs;
}

ValueId bias_of(Rewriter& r, ValueId x, ValueId bias) { return r.add({.type = "Add", .inputs = {x, bias}}); }

bool has_rank(Rewriter& r, size_t i, size_t rank) {
  return !r.has(i) || (r.type(i).ranked && r.type(i).rank() == rank);
}

// Q, K and V with their bias. Of their sizes, only those of Q and V are known.
bool add_bias(Rewriter& r, ValueId (&qkv)[3]) {
  if (!r.has(3)) return true;
  const Dim q = r.type(0).shape[2], v = r.type(2).shape[2];
  if (!is_known(q) || !is_known(v) || !has_rank(r, 3, 1)) return false;
  const Dim whole = r.type(3).shape[0];
  if (whole != 2 * q + v) return false;
  const auto parts = add_all(r, {.type = "Split",
                                 .inputs = {r.input(3), r.constant(Ints{q, q, v})},
                                 .attributes = {{"axis", int64_t(0)}},
                                 .outputs = 3});
  for (size_t i = 0; i < 3; ++i) qkv[i] = bias_of(r, qkv[i], parts[i]);
  return true;
}

void apply_heads(Rewriter& r) {
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
  if (r.has(5)) {  // the kernel reports errors of other forms
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
  const auto made = add_all(r, {.type = "Attention", .inputs = inputs, .attributes = a, .outputs = outputs});
  for (size_t i = 0; i < outputs; ++i) r.replace_output(i, made[i]);
  r.remove();
}

// Q, K and V from rows of all three.
std::vector<ValueId> split_rows(Rewriter& r, ValueId all) {
  const Ints given = r.attributes().get_or<Ints>("qkv_hidden_sizes", {});
  const ValueType& w = r.type(1);
  require(!w.ranked || w.rank() == 2, ErrorCode::invalid_argument, "weights have {} axes, expected 2", w.rank());
  const bool known = w.ranked && is_known(w.shape[1]);
  const int64_t width = known ? w.shape[1] : 0;
  NodeSpec split{.type = "Split", .inputs = {all}, .attributes = {{"axis", int64_t(2)}}, .outputs = 3};
  if (given.empty()) {
    require(!known || (width > 0 && width % 3 == 0), ErrorCode::invalid_argument,
            "weights have {} columns for Q, K and V of the same size", width);
    split.attributes.set("num_outputs", int64_t(3));
    return add_all(r, std::move(split));
  }
  const bool fits = given.size() == 3 && given[0] == given[1] && given[0] > 0 && given[2] > 0;
  require(fits, ErrorCode::invalid_argument, "qkv_hidden_sizes are three positive numbers, the first two the same");
  require(!known || (given[2] < width && given[0] == (width - given[2]) / 2 && (width - given[2]) % 2 == 0),
          ErrorCode::invalid_argument, "weights have {} columns; qkv_hidden_sizes are {}, {} and {}", width, given[0],
          given[1], given[2]);
  split.inputs.push_back(r.constant(given));
  return add_all(r, std::move(split));
}

ValueId half(Rewriter& r, ValueId past, int64_t which) {
  return r.add({.type = "Gather",
                .inputs = {past, r.constant(Tensor::of<int64_t>({}, {which}))},
                .attributes = {{"axis", int64_t(0)}}});
}

void check_attention(Rewriter& r) {
  require(r.attributes().get_or<int64_t>("do_rotary", 0) == 0, ErrorCode::not_implemented,
          "do_rotary is not supported; use RotaryEmbedding and MultiHeadAttention");
  require(!r.has(4) || !r.has(5), ErrorCode::invalid_argument, "past and attention_bias exclude each other");
  const ValueType &x = r.type(0), &w = r.type(1);
  require(!x.ranked || x.rank() == 3, ErrorCode::invalid_argument, "input has {} axes, expected 3", x.rank());
  require(!r.has(2) || !r.type(2).ranked || !w.ranked ||
              (r.type(2).rank() == 1 && may_equal(r.type(2).shape[0], w.shape.back())),
          ErrorCode::invalid_argument, "bias does not fit to the columns of the weights");
  if (!r.has(4) || !r.type(4).ranked) return;
  const Shape& past = r.type(4).shape;
  require(past.rank() == 5 && may_equal(past[0], 2), ErrorCode::invalid_argument,
          "past has shape {}, expected [2, batch, heads, rows, size]", r.graph().dims().text(past));
}

void apply_attention(Rewriter& r) {
  check_attention(r);
  ValueId all = r.add({.type = "MatMul", .inputs = {r.input(0), r.input(1)}});
  if (r.has(2)) all = bias_of(r, all, r.input(2));
  const auto qkv = split_rows(r, all);
  std::vector<ValueId> inputs(10, ValueId::none);
  std::copy(qkv.begin(), qkv.end(), inputs.begin());
  inputs[4] = r.input(3);
  inputs[5] = r.input(5);
  if (r.has(4)) {
    inputs[6] = half(r, r.input(4), 0);
    inputs[7] = half(r, r.input(4), 1);
  }
  if (r.attributes().get_or<int64_t>("past_present_share_buffer", 0) != 0) inputs[8] = r.input(6);
  while (inputs.back() == ValueId::none) inputs.pop_back();
  Attributes a = r.attributes();
  for (const auto name : {"do_rotary", "past_present_share_buffer", "qkv_hidden_sizes", "rotary_embedding_dim"})
    a.erase(name);
  const bool keeps = r.output_used(1);
  const auto made = add_all(r, {.type = "MultiHeadAttention",
                                .inputs = inputs,
                                .attributes = a,
                                .domain = "com.microsoft",
                                .outputs = keeps ? size_t(3) : size_t(1)});
  r.replace_output(0, made[0]);
  if (keeps) {
    std::vector<ValueId> both;
    for (const size_t i : {1, 2})
      both.push_back(r.add({.type = "Unsqueeze", .inputs = {made[i], r.constant(Ints{0})}}));
    r.replace_output(1, r.add({.type = "Concat", .inputs = both, .attributes = {{"axis", int64_t(0)}}}));
  }
  r.remove();
  Rewriter next(r.graph(), r.graph().value(made[0]).producer);
  apply_heads(next);
}

constexpr LiftRule kHeadRules[] = {{"Attention", kAlways, apply_attention, "com.microsoft"},
                                   {"MultiHeadAttention", kAlways, apply_heads, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_multi_head_attention;
constinit const LiftRules lift_multi_head_attention{kHeadRules};

}  // namespace retort
