// com.microsoft.QEmbedLayerNormalization: adds rows of quantised tables for words, positions and segments, and
// normalises the sum.
#include "lift/quantized.h"

namespace retort {
namespace {

// Dequantises input `table`, or its rows `ids`. The scale is input `table` + 6, the zero point input `table` + 11.
ValueId embedding(Rewriter& r, size_t table, ValueId ids) {
  const size_t scale = table + 6, zero = table + 11;
  expect_one(r, scale, "scale");
  expect_one(r, zero, "zero point");
  ValueId codes = r.input(table);
  if (ids != ValueId::none) codes = r.add({.type = "Gather", .inputs = {codes, ids}});
  return r.add({.type = "DequantizeLinear", .inputs = {codes, r.input(scale), r.input(zero)}});
}

// Negative indices are out of range here; they do not count from the end.
ValueId not_from_the_end(Rewriter& r, ValueId ids) { return cast(r, cast(r, ids, DType::u32), DType::i64); }

// 0, 1, … for each element of a row of input 0.
ValueId first_positions(Rewriter& r) {
  const Attributes second{{"start", int64_t(1)}, {"end", int64_t(2)}};
  const ValueId length = r.add({.type = "Shape", .inputs = {r.input(0)}, .attributes = second});
  const auto number = [&](int64_t v) { return r.constant(Tensor::of<int64_t>({}, {v})); };
  return r.add({.type = "Range", .inputs = {number(0), r.add({.type = "Squeeze", .inputs = {length}}), number(1)}});
}

// How many elements of each row of the mask are 1; 0 without a mask.
ValueId mask_counts(Rewriter& r, size_t mask) {
  if (!r.has(mask)) {
    const ValueId batch = r.add({.type = "Shape", .inputs = {r.input(0)}, .attributes = {{"end", int64_t(1)}}});
    return r.add(
        {.type = "ConstantOfShape", .inputs = {batch}, .attributes = {{"value", Tensor::of<int32_t>({1}, {0})}}});
  }
  const ValueId one = r.constant(Tensor::of<int32_t>({}, {1}));
  const ValueId ones = cast(r, r.add({.type = "Equal", .inputs = {r.input(mask), one}}), DType::i32);
  return r.add({.type = "ReduceSum",
                .inputs = {ones, r.constant(std::vector<int64_t>{1})},
                .attributes = {{"keepdims", int64_t(0)}}});
}

void apply_q_embed_layer_normalization(Rewriter& r) {
  enum Input : size_t { kIds, kSegmentIds, kWords, kPositions, kSegments, kGamma, kBeta, kMask };
  expect_input(r, kIds, "input_ids", kNoInput, {kAnyExtent, kAnyExtent});
  expect_input(r, kSegmentIds, "segment_ids", kIds);
  expect_input(r, kMask, "mask", kIds);
  expect_input(r, kWords, "word_embedding", kNoInput, {kAnyExtent, kAnyExtent});
  expect_input(r, kPositions, "position_embedding", kWords, {kAnyExtent, extent_of(1)});
  expect_input(r, kSegments, "segment_embedding", kWords, {kAnyExtent, extent_of(1)});
  expect_input(r, kGamma, "gamma", kWords, {extent_of(1)});
  expect_input(r, kBeta, "beta", kWords, {extent_of(1)});
  const ValueId words = embedding(r, kWords, not_from_the_end(r, r.input(kIds)));
  ValueId sum = r.add({.type = "Add", .inputs = {words, embedding(r, kPositions, first_positions(r))}});
  if (r.has(kSegments)) {
    require(r.has(kSegmentIds), ErrorCode::invalid_graph, "segment_embedding is given without segment_ids");
    sum = r.add({.type = "Add", .inputs = {sum, embedding(r, kSegments, not_from_the_end(r, r.input(kSegmentIds)))}});
  }
  const ValueId gamma = embedding(r, kGamma, ValueId::none), beta = embedding(r, kBeta, ValueId::none);
  const Attributes epsilon{{"epsilon", r.attributes().get_or<float>("epsilon", 1e-12f)}};
  const ValueId y = r.add({.type = "LayerNormalization", .inputs = {sum, gamma, beta}, .attributes = epsilon});
  r.replace_output(1, mask_counts(r, kMask));
  r.replace_output(0, y);
  r.remove();
}

constexpr LiftRule kQEmbedRules[] = {
    {"QEmbedLayerNormalization", kAlways, apply_q_embed_layer_normalization, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_q_embed_layer_normalization;
constinit const LiftRules lift_q_embed_layer_normalization{kQEmbedRules};

}  // namespace retort
