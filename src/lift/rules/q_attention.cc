// com.microsoft.QAttention: attention whose projection of the input to queries, keys and values is a quantised product.
// The projection becomes MatMulInteger; the rest is that of com.microsoft.Attention.
#include "lift/head_attention.h"
#include "lift/quantized.h"

namespace retort {
namespace {

enum Input : size_t { kX, kWeight, kBias, kXScale, kWeightScale, kMask, kXZero, kWeightZero, kPast };

// [batch, rows, 3 · hidden]: queries, keys and values side by side.
ValueId projected(Rewriter& r) {
  const auto add = [&](const char* type, std::vector<ValueId> inputs) {
    return r.add({.type = type, .inputs = std::move(inputs)});
  };
  expect_one(r, kXScale, "input_scale");
  expect_one(r, kXZero, "input_zero_point");
  expect_input(r, kX, "input", kNoInput, {kAnyExtent, kAnyExtent, kAnyExtent});
  expect_input(r, kWeight, "weight", kNoInput, {kAnyExtent, kAnyExtent});
  expect_input(r, kBias, "bias", kWeight, {extent_of(1)});
  expect_input(r, kWeightScale, "weight_scale", kWeight, {extent_of(1)}, true);
  expect_input(r, kWeightZero, "weight_zero_point", kWeight, {extent_of(1)}, true);
  expect_input(r, kPast, "past", kX, {2, extent_of(0), kAnyExtent, kAnyExtent, kAnyExtent});
  const std::vector<ValueId> codes{r.input(kX), r.input(kWeight), input_or_none(r, kXZero),
                                   input_or_none(r, kWeightZero)};
  const ValueId sums = cast(r, add("MatMulInteger", codes), DType::f32);
  const ValueId scale = add("Mul", {r.input(kXScale), r.input(kWeightScale)});
  return add("Add", {add("Mul", {sums, scale}), r.input(kBias)});
}

void apply_q_attention(Rewriter& r) {
  for (const char* name : {"do_rotary", "past_present_share_buffer"})
    require(r.attributes().get_or<int64_t>(name, 0) == 0, ErrorCode::not_implemented, "attribute {} is not supported",
            name);
  const auto qkv = r.add_all({.type = "Split",
                              .inputs = {projected(r)},
                              .attributes = {{"axis", int64_t(-1)}, {"num_outputs", int64_t(3)}},
                              .outputs = 3});
  attend_together(r, {.qkv = qkv, .mask = kMask, .past = kPast});
}

constexpr LiftRule kQAttentionRules[] = {{"QAttention", kAlways, apply_q_attention, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_q_attention;
constinit const LiftRules lift_q_attention{kQAttentionRules};

}  // namespace retort
