// Tests the costs of operators: a row for each one with its own cost(), with numbers computed by hand.
#include "ops/cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ops/cost_testing.h"

namespace retort::ops::costs {
namespace {

class SlotShapes final : public CostContext {
 public:
  SlotShapes(std::span<const Slot> inputs, std::span<const Slot> outputs) : inputs_(inputs), outputs_(outputs) {}

 private:
  static const ValueType* type(std::span<const Slot> slots, size_t i) {
    return i < slots.size() && slots[i].present ? &slots[i].type : nullptr;
  }
  const ValueType* input(size_t i) const override { return type(inputs_, i); }
  const ValueType* output(size_t i) const override { return type(outputs_, i); }
  double number(Dim extent) const override { return is_known(extent) ? double(extent) : kUnknown; }

  std::span<const Slot> inputs_, outputs_;
};

Cost cost_of(const OpRun& run) {
  DimTable dims;
  const std::vector<Slot> in = run.input_slots(), out = run.infer(dims, in);
  return retort::cost_of(*run.node.op, run.node.params.get(), SlotShapes(in, out));
}

std::vector<Row> pools() {
  const Attributes kernel{{"kernel_shape", std::vector<int64_t>{2, 3}}};
  const auto pool = [&](std::string_view name, std::string_view domain) {
    return Row{
        name, {of({1, 4, 4, 4})}, {.operations = domain.empty() ? 4.0 * 3 * 2 * 6 : 3 * 2 * 4 * 6.0}, kernel, domain};
  };
  const auto whole = [](std::string_view name, std::string_view domain = "") {
    return Row{name, {of({1, 4, 5, 6})}, {.operations = 120}, {}, domain};
  };
  return {
      pool("MaxPool", ""),
      pool("AveragePool", ""),
      pool("LpPool", ""),
      pool("MaxPool", "retort"),
      pool("AveragePool", "retort"),
      whole("GlobalAveragePool"),
      whole("GlobalAveragePool", "retort"),
      whole("GlobalMaxPool"),
      whole("GlobalLpPool"),
  };
}

std::vector<Row> of_windows() {
  const Tensor linear = f32({4}, {1, 1, 2, 2}), smaller = f32({4}, {1, 1, 0.5, 1});
  const auto mode = [](const char* m) { return Attributes{{"mode", std::string(m)}}; };
  Attributes antialias = mode("linear");
  antialias.set("antialias", int64_t(1));
  return {
      {"Resize", {of({1, 2, 3, 4}), kNoInput, linear}, {.operations = 2 * (2 * 6 * 8) * 4}, mode("linear")},
      {"Resize", {of({1, 2, 3, 4}), kNoInput, linear}, {.operations = 2 * (2 * 6 * 8) * 16}, mode("cubic")},
      {"Resize", {of({1, 2, 3, 4}), kNoInput, linear}, {}, mode("nearest")},
      {"Resize", {of({1, 2, 4, 4}), kNoInput, smaller}, {.operations = 2 * (2 * 2 * 4) * 4}, antialias},
      {"GridSample", {of({1, 3, 4, 4}), of({1, 5, 6, 2})}, {.operations = 2 * (3 * 5 * 6) * 4}},
      {"GridSample", {of({1, 3, 4, 4}), of({1, 5, 6, 2})}, {.operations = 2 * (3 * 5 * 6) * 16}, mode("cubic")},
      {"GridSample", {of({1, 3, 4, 4}), of({1, 5, 6, 2})}, {}, mode("nearest")},
      {"AffineGrid", {of({1, 2, 3}), i64({4}, {1, 3, 5, 6})}, {.operations = 2 * (5 * 6 * 2) * 3}},
      {"Col2Im", {of({1, 12, 9}), i64({2}, {4, 4}), i64({2}, {2, 2})}, {.operations = 108}},
      {"RoiAlign", {of({1, 2, 4, 4}), of({3, 4}), i64({3}, {0, 0, 0})}, {.operations = kUnknown}},
      {"CropAndResize",
       {of({1, 2, 4, 4}), of({3, 4}), of({3}, DType::i32), Tensor::of<int32_t>({2}, {5, 6})},
       {.operations = 3 * 2 * 5 * 6 * 9},
       {},
       "com.microsoft"},
      {"WordConvEmbedding",
       {of({3, 6}, DType::i32), of({4, 1, 2, 5}), of({4}), of({9, 5})},
       {.multiply_adds = 3 * 5 * 4 * 2 * 5, .operations = 3 * 4},
       {},
       "com.microsoft"},
      {"MaxpoolWithMask",
       {of({1, 2, 4, 4}), of({1, 2, 4, 4}, DType::i32)},
       {.operations = 2 * 2 * 3 * 6},
       {{"kernel_shape", std::vector<int64_t>{3, 2}}},
       "com.microsoft"},
      {"MaxRoiPool",
       {of({1, 2, 4, 4}), of({3, 5})},
       {.operations = kUnknown},
       {{"pooled_shape", std::vector<int64_t>{2, 2}}}},
  };
}

std::vector<Row> rows_of_reductions() {
  std::vector<Row> rows;
  for (const char* name : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                           "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"})
    rows.push_back({name, {of({5, 3}), i64({1}, {1})}, {.operations = 15}});
  for (const char* name : {"CumSum", "CumProd"}) rows.push_back({name, {of({5, 3}), i64({}, {1})}, {.operations = 15}});
  rows.push_back({"Det", {of({2, 3, 3})}, {.operations = 2 * 2 * 27 / 3}});
  rows.push_back({"Inverse", {of({2, 3, 3})}, {.operations = 2 * 2 * 27}, {}, "com.microsoft"});
  return rows;
}

std::vector<Row> normalisations() {
  const Tensor x = of({2, 4, 3}), channel = of({4}), last = of({3});
  const Cost five{.operations = 5 * 24};
  std::vector<Row> rows{
      {"BatchNormalization", {x, channel, channel, channel, channel}, five},
      {"InstanceNormalization", {x, channel, channel}, five},
      {"GroupNormalization", {x, channel, channel}, five, {{"num_groups", int64_t(2)}}},
      {"GroupNormalization", {x, last, last}, five, {{"num_groups", int64_t(1)}}, "retort"},
      {"RowAffine", {x, last, last}, {.operations = 2 * 24}, {}, "retort"},
      {"LayerNormalization", {x, last, last}, five},
      {"RMSNormalization", {x, last}, five},
      {"SimplifiedLayerNormalization", {x, last}, five},
      {"SkipLayerNormalization", {x, x, last}, five, {}, "com.microsoft"},
      {"SkipSimplifiedLayerNormalization", {x, x, last}, five, {}, "com.microsoft"},
      {"MeanVarianceNormalization", {of({2, 4, 3, 1})}, five},
      {"Softmax", {x}, five},
      {"LogSoftmax", {x}, five},
      {"LpNormalization", {x}, {.operations = 3 * 24}},
      {"LRN", {x}, {.operations = (2 * 5 + 4) * 24}, {{"size", int64_t(5)}}},
      {"Normalizer", {of({5, 2})}, {.operations = 30}, {}, "ai.onnx.ml"},
      {"SoftmaxCrossEntropyLoss", {of({5, 3}), of({5}, DType::i64)}, {.operations = 5 * 15 + 2 * 5}},
      {"NegativeLogLikelihoodLoss", {of({5, 3}), of({5}, DType::i64)}, {.operations = 2 * 5}},
  };
  for (const char* name : {"BiasGelu", "FastGelu"})
    rows.push_back({name, {x, last}, {.operations = 2 * 24}, {}, "com.microsoft"});
  rows.push_back({"FastGelu", {x}, {.operations = 24}, {}, "com.microsoft"});
  return rows;
}

std::vector<Row> heads_and_gates() {
  constexpr DType i = DType::i32;
  const Attributes heads{{"num_heads", int64_t(2)}}, one{{"q_num_heads", int64_t(1)}, {"kv_num_heads", int64_t(1)}};
  const Tensor x = of({3, 4}), row = of({4}), tokens = of({2, 3, 4}), gates = of({2, 3, 1});
  const Tensor positions = of({1, 5}, DType::i64), caches = of({5, 2});
  const Tensor streams = of({5, 2, 4}), block = of({5, 4}), branches = of({5, 2}), mix = of({5, 2, 2});
  const Tensor engram = of({1, 3, 2, 4}), scale = of({2, 4}), ids = of({2, 3}, i);
  std::vector<Row> rows{
      {"MultiHeadAttention", {of({1, 5, 8}), of({1, 7, 8}), of({1, 7, 8})}, {.multiply_adds = 2 * 5 * 8 * 7}, heads},
      {"DecoderMaskedMultiHeadAttention",
       {of({1, 1, 8}), of({1, 2, 7, 4}), of({1, 2, 7, 4})},
       {.multiply_adds = 2 * 8 * 7},
       heads},
      {"PackedMultiHeadAttention",
       {of({5, 8}), of({5, 8}), of({5, 8}), kNoInput, of({2, 4}, i), of({3}, i)},
       {.multiply_adds = 2 * 5 * 8 * 4},
       heads},
      {"BiasSplitGelu", {of({1, 3, 4}), of({4})}, {.operations = 4 * 6}},
      {"RotaryEmbedding", {of({1, 5, 8}), positions, caches, caches}, {.operations = 3 * 40}, heads},
      {"MRotaryEmbedding",
       {of({1, 2, 5, 4}), of({3, 1, 5}, DType::i64), caches, caches},
       {.operations = 3 * 40},
       {{"mrope_section", std::vector<int64_t>{2, 0, 0}}}},
      {"LinearAttention", {tokens, tokens, tokens, kNoInput, gates, gates}, {.multiply_adds = 6 * 16 * 3.5}, one},
      {"GatedDeltaNet",
       {of({6, 1, 4}), of({6, 1, 4}), of({6, 1, 4}), of({3}, i), of({6, 1}), of({6, 1})},
       {.multiply_adds = 6 * 16 * 3.5}},
      {"VarlenCausalConvWithState",
       {x, of({4, 1, 3}), of({2}, i), kNoInput, of({1, 4, 2})},
       {.multiply_adds = 3 * 12},
       {},
       "",
       2},
      {"GatedAdd", {x, x, of({3, 1})}, {.operations = 2 * 12 + 3}},
      {"ScaledSiLU", {x}, {.operations = 3 * 12}},
      {"BranchwiseRMSNorm", {x}, {.operations = 5 * 12}},
      {"GatedRMSNorm", {x, row, x}, {.operations = 7 * 12}},
      {"LinearAttentionGate", {x, row, row}, {.operations = 4 * 12}},
      {"HyperConnectionPreMix", {streams, branches}, {.multiply_adds = 40}},
      {"HyperConnectionPostMix", {streams, block, branches, mix}, {.multiply_adds = 40 * 3}},
      {"EngramGate", {engram, engram, of({1, 3, 4}), scale, scale}, {.operations = 12 * 24}},
      {"EmbedLayerNormalization", {ids, kNoInput, x, x, kNoInput, row, row}, {.operations = 8 * 24}}};
  for (Row& r : rows) r.domain = "com.microsoft";
  for (Row& r : rows) r.outputs = std::max<size_t>(r.outputs, r.name == "LinearAttention" ? 2 : 1);
  rows.push_back({"LinearAttention", {tokens, tokens, tokens, kNoInput, gates, gates}, rows[6].cost, one, "", 2});
  return rows;
}

std::vector<Row> others() {
  const Tensor x = of({2, 4}), scale = of({}), zero = of({}, DType::u8), index = of({3}, DType::i64);
  const Attributes add{{"reduction", std::string("add")}}, shape{{"shape", std::vector<int64_t>{2, 4}}};
  const Tensor size = i64({}, {8}), number = of({});
  std::vector<Row> rows{
      {"QuantizeLinear", {x, scale, zero}, {.operations = 24}},
      {"DequantizeLinear", {of({2, 4}, DType::u8), scale, zero}, {.operations = 16}},
      {"DynamicQuantizeLinear", {x}, {.operations = 40}, {}, "", 3},
      {"Bernoulli", {x}, {.operations = 8}},
      {"RandomNormal", {}, {.operations = 8}, shape},
      {"RandomUniform", {}, {.operations = 8}, shape},
      {"RandomNormalLike", {x}, {.operations = 8}},
      {"RandomUniformLike", {x}, {.operations = 8}},
      {"MelWeightMatrix", {i64({}, {2}), i64({}, {6}), size, number, number}, {.operations = 2 * 4}},
      {"DFT", {of({1, 8, 1})}, {.operations = kUnknown}},
      {"STFT", {of({1, 8, 1}), i64({}, {2}), of({4})}, {.operations = kUnknown}},
      {"ScatterElements", {x, of({1, 3}, DType::i64), of({1, 3})}, {.operations = 3}, add},
      {"ScatterElements", {x, of({1, 3}, DType::i64), of({1, 3})}, {}},
      {"ScatterND", {x, of({1, 1}, DType::i64), of({1, 4})}, {.operations = 4}, add},
      {"Gather", {x, index}, {.access = Access::rows}},
      {"GatherElements", {x, of({1, 3}, DType::i64)}, {.access = Access::rows}},
      {"GatherND", {x, of({3, 1}, DType::i64)}, {.access = Access::rows}},
      {"Slice", {x, i64({1}, {0}), i64({1}, {1})}, {.access = Access::part}},
      {"Imputer", {x}, {.operations = 8}, {{"imputed_value_floats", std::vector<float>{1}}}, "ai.onnx.ml"},
      {"Scaler",
       {x},
       {.operations = 16},
       {{"offset", std::vector<float>{1}}, {"scale", std::vector<float>{1}}},
       "ai.onnx.ml"},
  };
  for (const char* name : {"HannWindow", "HammingWindow", "BlackmanWindow"})
    rows.push_back({name, {size}, {.operations = 8}});
  return rows;
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (std::vector<Row> some :
       {products(), linear_models(), packed_products(), convolutions(), recurrences(), attentions(), pools(),
        of_windows(), rows_of_reductions(), normalisations(), heads_and_gates(), others()})
    rows.insert(rows.end(), some.begin(), some.end());
  return rows;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST(Cost, FollowsFromShapes) {
  for (const Row& row : all_rows()) {
    SCOPED_TRACE(row.name);
    const OpRun run(row.domain, row.name, row.attributes, row.inputs, row.outputs);
    const Cost cost = cost_of(run);
    EXPECT_TRUE(same(cost.multiply_adds, row.cost.multiply_adds)) << cost.multiply_adds;
    EXPECT_TRUE(same(cost.operations, row.cost.operations)) << cost.operations;
    EXPECT_EQ(cost.rounds, row.cost.rounds);
    EXPECT_EQ(cost.tiles, row.cost.tiles);
    EXPECT_EQ(cost.access, row.cost.access);
  }
}

TEST(Cost, HasARowForEveryOperatorThatSaysItItself) {
  std::set<const OpDef*> listed;
  for (const Row& row : all_rows()) {
    const OpDef* op = find_op(row.domain, row.name);
    ASSERT_TRUE(op && op->cost) << row.name;
    listed.insert(op);
  }
  for (const OpDef* op : op_table())
    EXPECT_EQ(op->cost != nullptr, listed.contains(op)) << op->info.domain << "." << op->info.name;
}

TEST(Cost, OfOtherOperatorsIsOneForEachElementOrNothing) {
  EXPECT_EQ(cost_of(OpRun("", "Add", {}, {of({5, 1}), of({3})}, 1)).arithmetic(), 15);
  EXPECT_EQ(cost_of(OpRun("", "Transpose", {}, {of({5, 3})}, 1)).arithmetic(), 0);
  EXPECT_EQ(cost_of(OpRun("", "Identity", {}, {of({5, 3})}, 1)).arithmetic(), 0);
}

TEST(Cost, CountsAMultiplyAddTwice) { EXPECT_EQ((Cost{.multiply_adds = 3, .operations = 1}).arithmetic(), 7); }

TEST(Cost, IsUnknownIfAnExtentIsUnknown) {
  const OpRun run("", "MatMul", {}, {of({5, 7}), of({7, 3})}, 1);
  DimTable dims;
  std::vector<Slot> in = run.input_slots();
  in[0].type.shape[0] = dims.fresh();
  const std::vector<Slot> out = run.infer(dims, in);
  EXPECT_TRUE(std::isnan(retort::cost_of(*run.node.op, run.node.params.get(), SlotShapes(in, out)).arithmetic()));
}

// Tests all examples: for any shapes, a formula works with the operator's inputs and is never negative.
TEST(Cost, OfExamplesIsANumber) {
  std::set<std::string_view> unknown;
  for (const Row& row : all_rows()) {
    if (std::isnan(row.cost.arithmetic())) unknown.insert(row.name);
  }
  for (const OpTest* test : OpTest::all()) {
    for (const OpCase& example : test->cases()) {
      SCOPED_TRACE(test->name() + ": " + example.about);
      const OpRun run(test->options().domain, test->name(), example.attributes, example.inputs,
                      std::max<size_t>(example.outputs.size(), 1));
      DimTable dims;
      const std::vector<Slot> in = run.input_slots(), out = run.infer(dims, in);
      if (out.empty() || !out[0].type.is_static()) continue;
      const double n = retort::cost_of(*run.node.op, run.node.params.get(), SlotShapes(in, out)).arithmetic();
      EXPECT_TRUE(n >= 0 || unknown.contains(test->name())) << n;
    }
  }
}

}  // namespace
}  // namespace retort::ops::costs
