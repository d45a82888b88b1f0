// com.microsoft.Attention: a product that makes Q, K and V, then MultiHeadAttention, whose caches are two tensors.
// com.microsoft.PackedAttention: the same without padding, whose attention is PackedMultiHeadAttention.
// com.microsoft.MultiHeadAttention: the Attention of ai.onnx if there is no padding and no buffer.
// com.microsoft.DecoderMaskedMultiHeadAttention: itself.
#include "base/error.h"
#include "lift/expect.h"
#include "lift/head_attention.h"
#include "ops/op.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

// Q, K and V from rows of all three, along an axis.
std::vector<ValueId> split_rows(Rewriter& r, ValueId all, int64_t axis) {
  const Ints given = r.attributes().get_or<Ints>("qkv_hidden_sizes", {});
  const ValueType& w = r.type(1);
  const bool known = w.ranked && is_known(w.shape[1]);
  const int64_t width = known ? w.shape[1] : 0;
  NodeSpec split{.type = "Split", .inputs = {all}, .attributes = {{"axis", axis}}, .outputs = 3};
  if (given.empty()) {
    require(!known || (width > 0 && width % 3 == 0), ErrorCode::invalid_argument,
            "weights have {} columns for Q, K and V of the same size", width);
    split.attributes.set("num_outputs", int64_t(3));
    return r.add_all(std::move(split));
  }
  const bool fits = given.size() == 3 && given[0] == given[1] && given[0] > 0 && given[2] > 0;
  require(fits, ErrorCode::invalid_argument,
          "qkv_hidden_sizes are {}, expected three positive numbers, of which the first two are equal",
          to_string(given));
  require(!known || (given[2] < width && given[0] == (width - given[2]) / 2 && (width - given[2]) % 2 == 0),
          ErrorCode::invalid_argument, "weights have {} columns; qkv_hidden_sizes are {}, {} and {}", width, given[0],
          given[1], given[2]);
  split.inputs.push_back(r.constant(given));
  return r.add_all(std::move(split));
}

// The input, which has `rank` axes, the weights and the bias.
void check_projection(Rewriter& r, size_t rank) {
  require(!r.type(0).ranked || r.type(0).rank() == rank, ErrorCode::invalid_argument, "input has {} axes, expected {}",
          r.type(0).rank(), rank);
  expect_input(r, 1, "weights", kNoInput, {kAnyExtent, kAnyExtent});
  expect_input(r, 2, "bias", 1, {extent_of(1)});
}

void check_attention(Rewriter& r) {
  require(r.attributes().get_or<int64_t>("do_rotary", 0) == 0, ErrorCode::not_implemented,
          "do_rotary is not supported; use RotaryEmbedding and MultiHeadAttention");
  require(!r.has(4) || !r.has(5), ErrorCode::invalid_argument, "past and attention_bias exclude each other");
  check_projection(r, 3);
  expect_input(r, 4, "past", 0, {2, extent_of(0), kAnyExtent, kAnyExtent, kAnyExtent});
}

void apply_attention(Rewriter& r) {
  check_attention(r);
  ValueId all = r.add({.type = "MatMul", .inputs = {r.input(0), r.input(1)}});
  if (r.has(2)) all = r.add({.type = "Add", .inputs = {all, r.input(2)}});
  const bool shared = r.attributes().get_or<int64_t>("past_present_share_buffer", 0) != 0;
  attend_together(r, {.qkv = split_rows(r, all, 2),
                      .mask = 3,
                      .bias = 5,
                      .past = 4,
                      .past_rows = shared ? 6 : PackedAttention::kNone});
}

void apply_packed_attention(Rewriter& r) {
  check_projection(r, 2);
  const ValueId product = r.add({.type = "MatMul", .inputs = {r.input(0), r.input(1)}});
  std::vector<ValueId> inputs = split_rows(r, r.add({.type = "Add", .inputs = {product, r.input(2)}}), 1);
  inputs.insert(inputs.end(), {ValueId::none, r.input(3), r.input(4)});
  if (r.has(5)) inputs.push_back(r.input(5));
  NodeSpec spec{.type = "PackedMultiHeadAttention", .inputs = std::move(inputs), .domain = "com.microsoft"};
  for (const char* name : {"num_heads", "scale"}) {
    if (const Attribute* given = r.attributes().find(name)) spec.attributes.set(name, *given);
  }
  r.replace_output(0, r.add(std::move(spec)));
  r.remove();
}

// The type of the scores, output 3, does not follow from the inputs: the model declares it. Where it is not that of the
// inputs, the node is computed in float32, so that wide scores of narrow inputs lose no digits. Returns whether it did.
bool give_scores_their_type(Rewriter& r) {
  constexpr size_t kScores = 3;
  if (!r.output_used(kScores)) return false;
  const DType own = r.type(0).dtype, wanted = r.graph().value(r.node().outputs[kScores]).type.dtype;
  if (wanted == own || !is_float(wanted) || !is_float(own)) return false;
  const auto converted = [&](ValueId x, DType from, DType to) { return from == to ? x : cast(r, x, to); };
  NodeSpec wide{.type = r.node().type,
                .inputs = r.node().inputs,
                .attributes = r.attributes(),
                .domain = "com.microsoft",
                .outputs = kScores + 1};
  for (ValueId& x : wide.inputs) {
    if (x != ValueId::none && r.graph().value(x).type.dtype == own) x = converted(x, own, DType::f32);
  }
  const auto made = r.add_all(std::move(wide));
  for (size_t i = 0; i < made.size(); ++i)
    r.replace_output(i, converted(made[i], DType::f32, i == kScores ? wanted : own));
  r.remove();
  return true;
}

void apply_multi_head_attention(Rewriter& r) {
  if (!give_scores_their_type(r)) use_standard_attention(r);
}
void apply_decoder_masked(Rewriter& r) { give_scores_their_type(r); }

constexpr LiftRule kHeadRules[] = {{"Attention", kAlways, apply_attention, "com.microsoft"},
                                   {"PackedAttention", kAlways, apply_packed_attention, "com.microsoft"},
                                   {"MultiHeadAttention", kAlways, apply_multi_head_attention, "com.microsoft"},
                                   {"DecoderMaskedMultiHeadAttention", kAlways, apply_decoder_masked, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_multi_head_attention;
constinit const LiftRules lift_multi_head_attention{kHeadRules};

}  // namespace retort
