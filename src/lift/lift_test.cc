#include "lift/lift.h"

#include <gtest/gtest.h>

#include "lift/lift_testing.h"

namespace retort {
namespace {

using namespace lift_testing;  // NOLINT: the words of these tests

using Ints = std::vector<int64_t>;

TEST(Lift, AxesBecomeInputs) {
  EXPECT_EQ(lifted(11, "Squeeze", {f32({1, 2, 1})}, {{"axes", Ints{0, 2}}}), "y = Squeeze(x0, [0,2])\n");
  EXPECT_EQ(lifted(11, "Squeeze", {f32({1, 2, 1})}, {{"axes", Ints{}}}), "y = Squeeze(x0)\n");
  EXPECT_EQ(lifted(11, "Unsqueeze", {f32({2})}, {{"axes", Ints{0}}}), "y = Unsqueeze(x0, [0])\n");
  EXPECT_EQ(lifted(11, "ReduceSum", {f32({2, 3})}, {{"axes", Ints{1}}, {"keepdims", int64_t(0)}}),
            "y = ReduceSum(x0, [1]) keepdims=0\n");
  EXPECT_EQ(lifted(17, "ReduceMean", {f32({2, 3})}, {{"axes", Ints{-1}}}), "y = ReduceMean(x0, [-1])\n");
  EXPECT_EQ(lifted(17, "ReduceMax", {f32({2, 3})}), "y = ReduceMax(x0)\n");
  EXPECT_EQ(lifted(18, "ReduceMean", {f32({2, 3}), i64({1}, {0})}), "y = ReduceMean(x0, [0])\n");
}

TEST(Lift, AttentionOfMicrosoftIsAProductAndThatOfOnnx) {
  const Attributes heads{{"num_heads", int64_t(2)}};
  EXPECT_EQ(lifted(1, "Attention", {f32({1, 3, 4}), f32({4, 12}), f32({12})}, heads, 1, "com.microsoft"),
            "%0 = MatMul(x0, x1)\n"
            "%1 = Add(%0, x2)\n"
            "%2, %3, %4 = Split(%1) axis=2 num_outputs=3\n"
            "y = Attention(%2, %3, %4) is_causal=0 kv_num_heads=2 q_num_heads=2\n");
  const Input x = f32({1, 3, 4});
  EXPECT_EQ(lifted(1, "MultiHeadAttention", {x, x, x}, heads, 1, "com.microsoft"),
            "y = Attention(x0, x1, x2) is_causal=0 kv_num_heads=2 q_num_heads=2\n");
  const Attributes wide{{"num_heads", int64_t(2)}, {"qkv_hidden_sizes", Ints{4, 4, 6}}};
  EXPECT_THROW(lifted(1, "Attention", {x, f32({4, 12})}, wide, 1, "com.microsoft"), Error);
}

TEST(Lift, OperatorsOfImageGenerationAreThoseOfOnnx) {
  const Input x = f32({1, 2, 4}), c = f32({4});
  EXPECT_EQ(lifted(1, "BiasAdd", {x, c, x}, {}, 1, "com.microsoft"), "%0 = Add(x0, x1)\ny = Add(%0, x2)\n");
  const Attributes norm{{"groups", int64_t(2)}, {"activation", int64_t(0)}, {"channels_last", int64_t(0)}};
  EXPECT_EQ(lifted(1, "GroupNorm", {f32({1, 4, 2, 2}), c, c}, norm, 1, "com.microsoft"),
            "%0 = CastLike(x1, x0)\n"
            "%1 = CastLike(x2, x0)\n"
            "y = GroupNormalization(x0, %0, %1) epsilon=1e-05 num_groups=2\n");
  EXPECT_EQ(lifted(1, "Rfft", {f32({8})}, {}, 1, "com.microsoft"),
            "%0 = Unsqueeze(x0, [-1])\ny = DFT(%0, _, -2) inverse=0 onesided=1\n");
}

TEST(Lift, SliceSplitTopKReshapePadClip) {
  EXPECT_EQ(lifted(9, "Slice", {f32({4, 5})}, {{"starts", Ints{1}}, {"ends", Ints{3}}, {"axes", Ints{0}}}),
            "y = Slice(x0, [1], [3], [0])\n");
  EXPECT_EQ(lifted(9, "Slice", {f32({4, 5})}, {{"starts", Ints{1}}, {"ends", Ints{3}}}), "y = Slice(x0, [1], [3])\n");
  EXPECT_EQ(lifted(11, "Split", {f32({6})}, {{"split", Ints{2, 4}}}, 2), "y, y1 = Split(x0, [2,4])\n");
  EXPECT_EQ(lifted(13, "Split", {f32({6})}, {}, 3), "y, y1, y2 = Split(x0) num_outputs=3\n");
  EXPECT_EQ(lifted(9, "TopK", {f32({6})}, {{"k", int64_t(2)}}, 2), "y, y1 = TopK(x0, [2])\n");
  EXPECT_EQ(lifted(1, "Reshape", {f32({6})}, {{"shape", Ints{2, -1}}}), "y = Reshape(x0, [2,-1])\n");
  EXPECT_EQ(lifted(1, "Pad", {f32({6})}, {{"paddings", Ints{1, 0}}, {"mode", std::string("edge")}}),
            "y = Pad(x0, [1,0]) mode=edge\n");
  EXPECT_EQ(lifted(10, "Pad", {f32({6})}, {{"pads", Ints{1, 0}}, {"value", 2.5f}}), "y = Pad(x0, [1,0], 2.5f)\n");
  EXPECT_EQ(lifted(6, "Clip", {f32({6})}, {{"min", 0.0f}, {"max", 6.0f}}), "y = Clip(x0, 0f, 6f)\n");
  EXPECT_EQ(lifted(6, "Clip", {ValueType::tensor(DType::f64, {6})}, {{"max", 6.0f}}), "y = Clip(x0, _, 6d)\n");
  EXPECT_EQ(lifted(1, "Tile", {f32({2, 3}), Tensor::of<float>({}, {4}), Tensor::of<float>({}, {1})}),
            "y = Tile(x0, [1,4])\n");
}

TEST(Lift, FormsOfOpset1) {
  EXPECT_EQ(lifted(1, "Relu", {f32({6})}, {{"consumed_inputs", Ints{0}}}), "y = Relu(x0)\n");
  EXPECT_EQ(lifted(1, "Cast", {f32({6})}, {{"to", std::string("INT64")}}), "y = Cast(x0) to=7\n");
  EXPECT_EQ(lifted(1, "Concat", {f32({2, 1}), f32({2, 3})}), "y = Concat(x0, x1) axis=1\n");
  EXPECT_EQ(lifted(6, "Add", {f32({2, 3, 4, 5}), f32({3, 4})}, {{"broadcast", int64_t(1)}, {"axis", int64_t(1)}}),
            "%0 = Unsqueeze(x1, [2])\ny = Add(x0, %0)\n");
  EXPECT_EQ(lifted(6, "Mul", {f32({2, 3}), f32({3})}, {{"broadcast", int64_t(1)}}), "y = Mul(x0, x1)\n");
  EXPECT_EQ(lifted(6, "PRelu", {f32({2, 3, 4, 5}), f32({3})}), "%0 = Unsqueeze(x1, [1,2])\ny = PRelu(x0, %0)\n");
  EXPECT_EQ(lifted(10, "Dropout", {f32({6})}), "y = Identity(x0)\n");
  EXPECT_EQ(lifted(6, "Gemm", {f32({2, 3}), f32({3, 4}), f32({4})}, {{"broadcast", int64_t(1)}}),
            "y = Gemm(x0, x1, x2)\n");
}

TEST(Lift, Softmax) {
  EXPECT_EQ(lifted(11, "Softmax", {f32({2, 3})}), "y = Softmax(x0) axis=-1\n");
  EXPECT_EQ(lifted(13, "Softmax", {f32({2, 3, 4})}, {{"axis", int64_t(1)}}), "y = Softmax(x0) axis=1\n");
  EXPECT_EQ(lifted(11, "LogSoftmax", {f32({2, 3, 4})}),
            "%0 = Flatten(x0) axis=1\n%1 = Shape(x0)\n%2 = LogSoftmax(%0) axis=-1\ny = Reshape(%2, %1) allowzero=1\n");
}

TEST(Lift, QuantizeLinearDividesInFloat32BeforeOpset23) {
  const std::vector<Input> inputs{ValueType::tensor(DType::f16, {2}), ValueType::tensor(DType::f16, Shape{})};
  EXPECT_EQ(lifted(21, "QuantizeLinear", inputs), "y = QuantizeLinear(x0, x1) precision=1\n");
  EXPECT_EQ(lifted(23, "QuantizeLinear", inputs), "y = QuantizeLinear(x0, x1)\n");
  EXPECT_EQ(lifted(1, "QuantizeLinear", inputs, {}, 1, "com.microsoft"), "y = QuantizeLinear(x0, x1) precision=1\n");
}

TEST(Lift, BatchNormalizationLosesTrainingOutputs) {
  const auto g = graph_of(7, "BatchNormalization", {f32({2, 3, 4}), f32({3}), f32({3}), f32({3}), f32({3})},
                          {{"spatial", int64_t(1)}}, 5);
  g->outputs.resize(1);
  lift(*g);
  EXPECT_EQ(text(*g), "y, _, _, _, _ = BatchNormalization(x0, x1, x2, x3, x4)\n");
}

TEST(Lift, GroupNormalizationPerChannel) {
  EXPECT_EQ(lifted(18, "GroupNormalization", {f32({2, 4, 5}), f32({2}), f32({2})}, {{"num_groups", int64_t(2)}}),
            "%0 = Unsqueeze(x1, [1])\n%1 = Expand(%0, [2,2])\n%2 = Reshape(%1, [-1])\n"
            "%3 = Unsqueeze(x2, [1])\n%4 = Expand(%3, [2,2])\n%5 = Reshape(%4, [-1])\n"
            "y = GroupNormalization(x0, %2, %5) num_groups=2\n");
  const Input free{ValueType::tensor(DType::f32)};
  EXPECT_EQ(lifted(18, "GroupNormalization", {free, f32({2}), f32({2})}, {{"num_groups", int64_t(2)}}),
            "%0 = Shape(x0) end=2 start=1\n%1 = Div(%0, [2])\n%2 = Concat([2], %1) axis=0\n"
            "%3 = Unsqueeze(x1, [1])\n%4 = Expand(%3, %2)\n%5 = Reshape(%4, [-1])\n"
            "%6 = Unsqueeze(x2, [1])\n%7 = Expand(%6, %2)\n%8 = Reshape(%7, [-1])\n"
            "y = GroupNormalization(x0, %5, %8) num_groups=2\n");
}

TEST(Lift, FusedConvTakenApart) {
  const auto g = graph_of(1, "FusedConv", {f32({1, 3, 4, 4}), f32({2, 3, 1, 1}), f32({2}), f32({1, 2, 4, 4})},
                          {{"activation", std::string("LeakyRelu")},
                           {"activation_params", std::vector<float>{0.25f}},
                           {"group", int64_t(1)}},
                          1, "com.microsoft");
  lift(*g);
  EXPECT_EQ(text(*g), "%0 = Conv(x0, x1, x2) group=1\n%1 = Add(%0, x3)\ny = LeakyRelu(%1) alpha=0.25\n");
}

TEST(Lift, UpsampleAndResize) {
  EXPECT_EQ(lifted(9, "Upsample", {f32({1, 1, 2, 2}), floats({1, 1, 2, 2})}, {{"mode", std::string("linear")}}),
            "y = Resize(x0, _, [1,1,2,2]f) coordinate_transformation_mode=asymmetric mode=linear nearest_mode=floor\n");
  EXPECT_EQ(
      lifted(1, "Upsample", {f32({1, 1, 2, 2})}, {{"height_scale", 2.0f}, {"width_scale", 3.0f}}),
      "y = Resize(x0, _, [1,1,2,3]f) coordinate_transformation_mode=asymmetric mode=nearest nearest_mode=floor\n");
  EXPECT_EQ(lifted(10, "Resize", {f32({1, 1, 4, 4}), floats({1, 1, 0.5f, 0.5f})}),
            "y = Resize(x0, _, [1,1,0.5,0.5]f) coordinate_transformation_mode=asymmetric nearest_mode=ceil\n");
  EXPECT_EQ(lifted(10, "Resize", {f32({1, 1, 4, 4}), floats({1, 1, 0.5f, 2})}),
            "%0 = Resize(x0, _, [1,1,0.5,1]f) coordinate_transformation_mode=asymmetric nearest_mode=ceil\n"
            "y = Resize(%0, _, [1,1,1,2]f) coordinate_transformation_mode=asymmetric nearest_mode=floor\n");
  EXPECT_EQ(lifted(11, "Resize", {f32({1, 1, 4, 4}), floats({}), floats({}), i64({4}, {1, 1, 8, 8})}),
            "y = Resize(x0, _, _, [1,1,8,8])\n");
}

TEST(Lift, ConstantsOfEveryForm) {
  const auto constant = [](const char* name, Attribute value) {
    return lifted(13, "Constant", {}, {{name, std::move(value)}});
  };
  EXPECT_EQ(constant("value", Tensor::of<float>({2}, {1, 2})), "y = [1,2]f\n");
  EXPECT_EQ(constant("value_float", 1.5f), "y = 1.5f\n");
  EXPECT_EQ(constant("value_int", int64_t(7)), "y = 7\n");
  EXPECT_EQ(constant("value_ints", Ints{7, 8}), "y = [7,8]\n");
  EXPECT_EQ(constant("value_floats", std::vector<float>{7, 8}), "y = [7,8]f\n");
  EXPECT_EQ(constant("value_string", std::string("a")), "y = 'a'\n");
  EXPECT_EQ(constant("value_strings", std::vector<std::string>{"a", "b"}), "y = ['a','b']\n");
  SparseTensor sparse;
  sparse.dense_shape = {2, 2};
  sparse.values = Tensor::of<float>({2}, {5, 6});
  sparse.indices = Tensor::of<int64_t>({2, 2}, {0, 1, 1, 0});
  EXPECT_EQ(constant("sparse_value", sparse), "y = [0,5,6,0]f\n");
  sparse.indices = Tensor::of<int64_t>({2}, {3, 0});
  EXPECT_EQ(constant("sparse_value", sparse), "y = [6,0,0,5]f\n");
  sparse.indices = Tensor::of<int64_t>({2}, {4, 0});
  EXPECT_THROW(constant("sparse_value", sparse), Error);
}

TEST(Lift, IsDoneOnce) {
  const auto g = graph_of(11, "Softmax", {f32({2, 3, 4})});
  lift(*g);
  const std::string once = text(*g);
  lift(*g);
  EXPECT_EQ(text(*g), once);
}

TEST(Lift, NodesThatRulesAddAreTyped) {
  const auto g = graph_of(6, "Add", {f32({2, 3, 4}), f32({3})}, {{"broadcast", int64_t(1)}, {"axis", int64_t(1)}});
  lift(*g);
  EXPECT_EQ(g->value(g->outputs[0]).type, ValueType::tensor(DType::f32, {2, 3, 4}));
}

TEST(Lift, ShapeArithmeticStaysSymbolic) {
  // reshape(x, [shape(x)[0], -1])
  auto g = std::make_shared<Graph>(std::make_shared<DimTable>());
  const Dim batch = g->dims().symbol("batch");
  const ValueId x = g->add_value("x", ValueType::tensor(DType::f32, {batch, 3, 4}));
  g->inputs = {x};
  const auto out = [&](NodeSpec spec) {
    spec.version = 13;
    return g->node(g->add(std::move(spec))).outputs[0];
  };
  const auto ints = [&](Shape shape, const Ints& v) {
    return g->add_constant(g->unique_name("c"), Tensor::of<int64_t>(std::move(shape), v));
  };
  const ValueId shape = out({.type = "Shape", .inputs = {x}});
  const ValueId first = out({.type = "Gather", .inputs = {shape, ints({}, {0})}, .attributes = {{"axis", int64_t(0)}}});
  const ValueId row = out({.type = "Unsqueeze", .inputs = {first, ints({1}, {0})}});
  const ValueId wanted =
      out({.type = "Concat", .inputs = {row, ints({1}, {-1})}, .attributes = {{"axis", int64_t(0)}}});
  g->outputs = {out({.type = "Reshape", .inputs = {x, wanted}})};
  lift(*g);
  EXPECT_EQ(g->dims().text(g->value(g->outputs[0]).type.shape), "[batch,12]");
}

TEST(Lift, CastLikeIsACast) {
  const Input ids = ValueType::tensor(DType::i64, {2}), unknown = ValueType::tensor(DType::undefined, {2});
  EXPECT_EQ(lifted(24, "CastLike", {f32({2}), ids}, {{"round_mode", std::string("down")}}),
            "y = Cast(x0) round_mode=down to=7\n");
  EXPECT_EQ(lifted(24, "CastLike", {f32({2}), unknown}), "y = CastLike(x0, x1)\n");
}

// As the exporter of torch writes arange().
TEST(Lift, TheStepOfARangeMayBeACastFloat) {
  const auto extent = [](float step) {
    const auto g = graph_of(24, "Range", {i64({}, {0}), ValueType::tensor(DType::i64, {}), i64({}, {1})});
    const Dim n = g->dims().symbol("n");
    const ValueId limit = g->inputs[0], x = g->add_value("x", ValueType::tensor(DType::f32, {n}));
    g->inputs = {x};
    const NodeId range = g->value(limit).uses[0].node;
    const auto out = [&](NodeSpec spec) {
      spec.version = 24;
      return g->node(g->add(std::move(spec))).outputs[0];
    };
    const ValueId shape = out({.type = "Shape", .inputs = {x}});
    g->set_input(range, 1, out({.type = "Squeeze", .inputs = {shape}}));
    const ValueId one = g->add_constant("one", Tensor::of<float>({}, {step}));
    g->set_input(range, 2, out({.type = "CastLike", .inputs = {one, g->node(range).input(1)}}));
    lift(*g);
    return g->dims().text(g->value(g->outputs[0]).type.shape);
  };
  EXPECT_EQ(extent(1), "[n]");
  EXPECT_NE(extent(2), "[n]");
  EXPECT_NE(extent(1.5f), "[n]");
  EXPECT_NE(extent(INFINITY), "[n]");
}

TEST(Lift, RangeTakesScalars) {
  EXPECT_EQ(lifted(11, "Range", {i64({}, {0}), ValueType::tensor(DType::i64, {1}), i64({}, {1})}),
            "%0 = Reshape(x1, [])\ny = Range(0, %0, 1)\n");
}

TEST(Lift, OpsetsAreTheOldestThatHaveTheForms) {
  using Opsets = std::map<std::string, int>;
  const auto opsets = [](int opset, const char* type, std::vector<Input> inputs, Opsets of_model = {}) {
    const auto g = graph_of(opset, type, std::move(inputs));
    lift(*g);
    return lifted_opsets(*g, std::move(of_model));
  };
  EXPECT_EQ(opsets(7, "Relu", {f32({2})}), (Opsets{{"", 6}}));
  EXPECT_EQ(opsets(7, "Relu", {f32({2})}, {{"", 7}, {"x", 3}}), (Opsets{{"", 7}, {"x", 3}}));
  EXPECT_EQ(opsets(9, "ReduceSum", {f32({2})}, {{"", 9}}), (Opsets{{"", 13}}));
  EXPECT_EQ(opsets(20, "Gelu", {f32({2})}), (Opsets{{"", 20}}));
  const Input codes{ValueType::tensor(DType::u4, Shape{2})};  // which DequantizeLinear takes since 21
  EXPECT_EQ(opsets(21, "DequantizeLinear", {codes, f32({})}), (Opsets{{"", 21}}));
  EXPECT_EQ(opsets(11, "Softmax", {f32({2, 3, 4})}, {{"", 11}}), (Opsets{{"", 14}}));  // Reshape with allowzero
}

// Kernels write these outputs, whether or not they are requested.
TEST(Lift, OutputsThatAreNotOptionalGetAValue) {
  const auto g = graph_of(13, "Relu", {f32({2})}, {}, 1);
  g->outputs.clear();
  Node& relu = g->node(g->order()[0]);
  g->value(relu.outputs[0]).producer = NodeId::none;
  relu.outputs[0] = ValueId::none;
  lift(*g);
  verify(*g);
  ASSERT_NE(relu.outputs[0], ValueId::none);
  EXPECT_EQ(to_string(g->value(relu.outputs[0]).type.shape), "[2]");
  const auto pool = graph_of(13, "MaxPool", {f32({1, 1, 4, 4})}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}, 1);
  lift(*pool);
  EXPECT_EQ(pool->node(pool->order()[0]).outputs.size(), 1u);  // the optional one is omitted
}

TEST(Lift, InternalOperatorsStandInNoModel) {
  const auto g = graph_of(1, "Linear", {f32({1, 2}), Tensor::of<float>({2, 1}, {1, 2})}, {}, 1, "retort");
  try {
    lift(*g);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_graph);
    EXPECT_NE(e.message().find("node 'n' (retort.Linear)"), std::string::npos) << e.message();
    EXPECT_NE(e.message().find("'retort'"), std::string::npos) << e.message();
  }
}

TEST(Lift, DropoutStaysIfItMayTrain) {
  const auto g = graph_of(13, "Dropout", {f32({2}), f32({}), ValueType::tensor(DType::boolean, Shape{})});
  lift(*g);
  EXPECT_EQ(g->node(g->order()[0]).type, "Dropout");
}

}  // namespace
}  // namespace retort
