// Operators of com.microsoft and ONNX's experiments that are others of ai.onnx, or are made of them.
#include <algorithm>

#include "lift/lift_testing.h"

namespace retort {
namespace {

using namespace lift_testing;  // NOLINT: the words of these tests

std::string microsoft(const char* type, std::vector<Input> inputs, Attributes attributes = {}, size_t outputs = 1) {
  return lifted(1, type, std::move(inputs), std::move(attributes), outputs, "com.microsoft");
}
Input i32(Shape shape, const std::vector<int32_t>& v) { return Tensor::of<int32_t>(std::move(shape), v); }

TEST(Contrib, ThoseThatMovedToOnnx) {
  EXPECT_EQ(microsoft("GatherND", {f32({2, 2}), i64({1, 1}, {1})}), "y = GatherND(x0, [1])\n");
  EXPECT_EQ(microsoft("Trilu", {f32({2, 2})}, {{"upper", int64_t(0)}}), "y = Trilu(x0) upper=0\n");
  EXPECT_EQ(microsoft("SampleOp", {f32({2})}), "y = Identity(x0)\n");
  EXPECT_EQ(microsoft("TransposeMatMul", {f32({2, 3}), f32({3, 4})}), "y = FusedMatMul(x0, x1)\n");
  EXPECT_EQ(microsoft("GridSample", {f32({1, 1, 4, 4}), f32({1, 2, 2, 2})}, {{"mode", std::string("bicubic")}}),
            "y = GridSample(x0, x1) mode=cubic\n");
  const Input codes = ValueType::tensor(DType::i16, Shape{1, 1, 4, 4});
  EXPECT_EQ(lifted(20, "GridSample", {codes, f32({1, 2, 2, 2})}),
            "%0 = Cast(x0) to=11\n%1 = GridSample(%0, x1)\ny = Cast(%1) to=5\n");
  EXPECT_THROW(microsoft("GridSample", {codes, f32({1, 2, 2, 2})}), Error);  // which has one type there
  EXPECT_EQ(microsoft("Pad", {f32({2}), i64({1, 2}, {1, 0}), f32({1})}),
            "%0 = Reshape([1,0], [-1])\n%1 = Reshape(x2, [])\ny = Pad(x0, %0, %1)\n");
  EXPECT_EQ(microsoft("Gelu", {f32({2, 3})}), "y = Gelu(x0)\n");
  EXPECT_EQ(microsoft("ExpandDims", {f32({2, 3}), i32({}, {-1})}),
            "%0 = Cast() to=7\n%1 = Reshape(%0, [1])\ny = Unsqueeze(x0, %1)\n");
  EXPECT_EQ(microsoft("Range", {f32({}), f32({})}), "%0 = CastLike(1, x0)\ny = Range(x0, x1, %0)\n");
  const Input unranked{ValueType::tensor(DType::f32)};
  EXPECT_EQ(microsoft("Unique", {unranked}, {}, 3),
            "%0 = Transpose(x0) perm=[0]\ny, _, y1, y2 = Unique(%0) sorted=0\n");
  EXPECT_EQ(microsoft("Unique", {f32({5})}, {}, 3), "y, _, y1, y2 = Unique(x0) sorted=0\n");
}

TEST(Contrib, WeightsOfACausalConvolutionWhoseShapeOnlyARunTells) {
  const Input weights = ValueType::tensor(DType::f32);
  EXPECT_EQ(microsoft("CausalConvWithState", {f32({1, 2, 5}), weights}, {{"dilation", int64_t(3)}}, 2),
            "%0 = Shape(x1) end=3 start=2\n%1 = Sub(%0, [1])\n%2 = Mul(%1, [3])\n"
            "%3 = Concat([0,0], %2, [0,0,0]) axis=0\n%4 = Pad(x0, %3)\ny = Conv(%4, x1) dilations=[3] group=2\n"
            "%5 = Shape(%4) end=3 start=2\n%6 = Sub(%5, %2)\ny1 = Slice(%4, %6, [9223372036854775807], [2])\n");
  const Input anything = ValueType::tensor(DType::f32);
  const std::string windows = microsoft("CausalConvWithState", {anything, weights}, {}, 2);
  EXPECT_NE(windows.find("%15 = Gather(%4, %14) axis=2\n"), std::string::npos) << windows;
  EXPECT_NE(windows.find("%21 = MatMul(%15, %20)\ny = Squeeze(%21, [3])\n"), std::string::npos) << windows;
}

TEST(Contrib, MasksOfUnknownRankReachTheKernel) {
  const Input codes = ValueType::tensor(DType::u8, {1, 2, 4}), weights = ValueType::tensor(DType::i8, {4, 12});
  const Input scale = f32({}), mask = ValueType::tensor(DType::i32);
  const std::string text =
      microsoft("QAttention", {codes, weights, f32({12}), scale, scale, mask}, {{"num_heads", int64_t(2)}});
  EXPECT_NE(text.find("MultiHeadAttention("), std::string::npos) << text;
  EXPECT_NE(text.find(", _, x5)"), std::string::npos) << text;
}

TEST(Contrib, AxesOfAQuantisedConvolutionThatOnlyItsAttributesTell) {
  const Input codes = ValueType::tensor(DType::u8), scale = f32({}), zero = ValueType::tensor(DType::u8, {});
  const auto conv = [&](Attributes attributes) {
    attributes.set("channels_last", int64_t(1));
    return microsoft("QLinearConv", {codes, scale, zero, codes, scale, zero, scale, zero}, attributes);
  };
  EXPECT_EQ(conv({{"pads", std::vector<int64_t>{1, 0, 1, 0}}}),
            "%0 = Transpose(x0) perm=[0,3,1,2]\n%1 = QLinearConv(%0, x1, x2, x3, x4, x5, x6, x7) pads=[1,0,1,0]\n"
            "y = Transpose(%1) perm=[0,2,3,1]\n");
  EXPECT_NE(conv({{"strides", std::vector<int64_t>{2}}}).find("perm=[0,2,1]"), std::string::npos);
  const std::string told_by_a_run = conv({});
  EXPECT_NE(told_by_a_run.find("ReduceProd("), std::string::npos) << told_by_a_run;
}

TEST(Contrib, GelusAreThoseOfOnnx) {
  EXPECT_EQ(microsoft("BiasGelu", {f32({2, 3}), f32({3})}), "%0 = Add(x0, x1)\ny = Gelu(%0)\n");
  EXPECT_EQ(microsoft("FastGelu", {f32({2, 3}), f32({3})}), "%0 = Add(x0, x1)\ny = Gelu(%0) approximate=tanh\n");
  EXPECT_EQ(microsoft("FastGelu", {f32({2, 3})}), "y = Gelu(x0) approximate=tanh\n");
  const Input free{ValueType::tensor(DType::f32)};
  EXPECT_EQ(microsoft("BiasGelu", {free, f32({3})}), "y = BiasGelu(x0, x1)\n");  // whose rows may have one element
  EXPECT_EQ(microsoft("QuickGelu", {f32({2})}), "y = Swish(x0) alpha=1.702\n");
  EXPECT_EQ(microsoft("QuickGelu", {f32({2})}, {{"alpha", 1.0f}}), "y = Swish(x0) alpha=1\n");
}

TEST(Contrib, GelusOfHalvesAndProducts) {
  const Input rows = f32({1, 2, 4}), free{ValueType::tensor(DType::f32)};
  EXPECT_EQ(microsoft("BiasSplitGelu", {rows, f32({4})}),
            "%0 = Add(x0, x1)\n%1, %2 = Split(%0) axis=2 num_outputs=2\n%3 = Gelu(%2)\ny = Mul(%1, %3)\n");
  for (const Input& bias : {f32({1}), f32({1, 4})}) EXPECT_THROW(microsoft("BiasSplitGelu", {rows, bias}), Error);
  EXPECT_THROW(microsoft("BiasSplitGelu", {f32({1, 2, 3}), f32({3})}), Error);
  EXPECT_EQ(microsoft("BiasSplitGelu", {free, f32({4})}), "y = BiasSplitGelu(x0, x1)\n");
  EXPECT_EQ(microsoft("GemmFastGelu", {f32({2, 3}), f32({3, 4}), f32({4})}),
            "%0 = MatMul(x0, x1)\n%1 = Add(%0, x2)\ny = Gelu(%1) approximate=tanh\n");
  EXPECT_THROW(microsoft("GemmFastGelu", {f32({2, 3}), f32({3, 4}), f32({3})}), Error);
}

TEST(Contrib, SoftmaxOfASum) {
  const Attributes inner{{"axis", int64_t(3)}, {"is_inner_broadcast", int64_t(1)}};
  const Attributes outer{{"axis", int64_t(-1)}, {"is_inner_broadcast", int64_t(0)}};
  EXPECT_EQ(microsoft("BiasSoftmax", {f32({2, 3, 4, 5}), f32({2, 1, 1, 5})}, inner),
            "%0 = Add(x0, x1)\ny = Softmax(%0)\n");
  EXPECT_EQ(microsoft("BiasSoftmax", {f32({3, 3, 4, 5}), f32({3, 5})}, inner),
            "%0 = Unsqueeze(x1, [1,2])\n%1 = Add(x0, %0)\ny = Softmax(%1)\n");
  EXPECT_EQ(microsoft("BiasSoftmax", {f32({3, 3, 4, 5}), f32({4, 5})}, outer), "%0 = Add(x0, x1)\ny = Softmax(%0)\n");
  EXPECT_EQ(microsoft("BiasSoftmax", {f32({2, 3, 4}), f32({1, 3, 4})}, {{"is_inner_broadcast", int64_t(0)}}),
            "%0 = Add(x0, x1)\n%1 = Flatten(%0) axis=1\n%2 = Softmax(%1)\n%3 = Shape(x0)\n"
            "y = Reshape(%2, %3) allowzero=1\n");
  for (const Shape& bias : {Shape{2, 1, 4, 5}, Shape{1, 2, 3, 4, 5}}) {
    EXPECT_THROW(microsoft("BiasSoftmax", {f32({1, 3, 4, 5}), f32(bias)}, outer), Error);
  }
  EXPECT_THROW(microsoft("BiasSoftmax", {f32({2, 3}), f32({2, 3})}, {{"axis", int64_t(2)}}), Error);
}

TEST(Contrib, AttentionWithoutPadding) {
  const Input places = ValueType::tensor(DType::i32, {2, 4}), starts = ValueType::tensor(DType::i32, {3});
  const Attributes two{{"num_heads", int64_t(2)}, {"scale", 0.5f}};
  EXPECT_EQ(microsoft("PackedAttention", {f32({5, 3}), f32({3, 12}), f32({12}), places, starts}, two),
            "%0 = MatMul(x0, x1)\n%1 = Add(%0, x2)\n%2, %3, %4 = Split(%1) axis=1 num_outputs=3\n"
            "y = PackedMultiHeadAttention(%2, %3, %4, _, x3, x4) num_heads=2 scale=0.5\n");
  Attributes sizes = two;
  sizes.set("qkv_hidden_sizes", std::vector<int64_t>{4, 4, 6});
  const std::string wide =
      microsoft("PackedAttention", {f32({5, 3}), f32({3, 14}), f32({14}), places, starts, f32({1, 2, 4, 4})}, sizes);
  EXPECT_NE(wide.find("Split(%1, [4,4,6]) axis=1"), std::string::npos) << wide;
  EXPECT_NE(wide.find("x3, x4, x5)"), std::string::npos) << wide;
  for (const auto& [x, bias] : {std::pair{f32({1, 5, 3}), f32({12})}, std::pair{f32({5, 3}), f32({1})}}) {
    EXPECT_THROW(microsoft("PackedAttention", {x, f32({3, 12}), bias, places, starts}, two), Error);
  }
}

TEST(Contrib, GatesOfHalves) {
  EXPECT_EQ(microsoft("SwiGLU", {f32({2, 3}), f32({2, 3})}), "%0 = Swish(x0) alpha=1\ny = Mul(%0, x1)\n");
  EXPECT_EQ(
      microsoft("SwiGLU", {f32({2, 6})}, {{"limit", 7.0f}, {"activation_alpha", 1.5f}, {"activation_beta", 1.0f}}),
      "%0, %1 = Split(x0) axis=-1 num_outputs=2\n%2 = Clip(%0, _, 7f)\n%3 = Clip(%1, -7f, 7f)\n"
      "%4 = Swish(%2) alpha=1.5\n%5 = Add(%3, 1f)\ny = Mul(%4, %5)\n");
  EXPECT_THROW(microsoft("SwiGLU", {f32({2, 5})}), Error);
  EXPECT_THROW(microsoft("SwiGLU", {f32({2, 3}), f32({2, 1})}), Error);
  const auto unknown = graph_of(1, "SwiGLU", {f32({2, 1})}, {}, 1, "com.microsoft");
  unknown->value(unknown->inputs[0]).type.shape[1] = unknown->dims().symbol("width");
  lift(*unknown);
  EXPECT_EQ(text(*unknown),
            "%0 = Shape(x0) end=-1\n%1 = Concat(%0, [2,-1]) axis=-1\n%2 = Reshape(x0, %1)\n%3 = Gather(%2, 0) axis=-2\n"
            "%4 = Gather(%2, 1) axis=-2\n%5 = Swish(%3) alpha=1\ny = Mul(%5, %4)\n");
  const Input half = ValueType::tensor(DType::f16, Shape{2, 3});
  EXPECT_EQ(microsoft("SwiGLU", {half, half}, {{"round_activation", int64_t(1)}}),
            "%0 = Cast(x0) to=1\n%1 = Cast(x1) to=1\n%2 = Swish(%0) alpha=1\n%3 = Cast(%2) to=10\n"
            "%4 = Cast(%3) to=1\n%5 = Mul(%4, %1)\ny = Cast(%5) to=10\n");
  const std::string router = microsoft("RouterGateUpProj", {half, ValueType::tensor(DType::f16, Shape{3, 10})},
                                       {{"router_size", int64_t(4)}}, 2);
  EXPECT_NE(router.find("y, %1, %2 = Split(%0, [4,3,3]) axis=-1"), std::string::npos) << router;
  EXPECT_THROW(microsoft("RouterGateUpProj", {half, ValueType::tensor(DType::f16, Shape{3, 9})},
                         {{"router_size", int64_t(4)}}, 2),
               Error);
}

TEST(Contrib, ProductsWithPackedWeightsAfterANorm) {
  const Input codes = ValueType::tensor(DType::u8, {2, 1, 16}), scales = f32({2}), x = f32({3, 32}), missing = kMissing;
  const Attributes sizes{{"K", int64_t(32)},
                         {"N", int64_t(2)},
                         {"bits", int64_t(4)},
                         {"block_size", int64_t(32)},
                         {"activation", std::string("silu")}};
  EXPECT_EQ(microsoft("MatMulNBitsMlp", {x, missing, missing, codes, scales, missing, codes, scales, f32({2})}, sizes),
            "%0 = MatMulNBits(x0, x3, x4) K=32 N=2 bits=4 block_size=32\n%1 = Swish(%0)\n"
            "%2 = MatMulNBits(x0, x6, x7, _, _, x8) K=32 N=2 bits=4 block_size=32\ny = Mul(%1, %2)\n");
  const std::string normed =
      microsoft("MatMulNBitsMlp", {x, missing, f32({32}), codes, scales, missing, codes, scales}, sizes);
  EXPECT_NE(normed.find("SimplifiedLayerNormalization(x0, x2) epsilon=1e-05"), std::string::npos) << normed;
  Attributes gelu = sizes;
  gelu.set("activation", std::string("gelu"));
  EXPECT_THROW(microsoft("MatMulNBitsMlp", {x, missing, missing, codes, scales, missing, codes, scales}, gelu), Error);
  const Attributes widths{{"K", int64_t(32)}, {"Nq", int64_t(2)}, {"Nkv", int64_t(2)}, {"block_size", int64_t(32)}};
  const std::vector<Input> inputs = {x,     x,      f32({32}), codes, scales, missing,
                                     codes, scales, missing,   codes, scales, missing};
  const std::string qkv = microsoft("MatMulNBitsQkv", inputs, widths, 4);
  EXPECT_NE(qkv.find("%0, %1, %2, y3 = SkipSimplifiedLayerNormalization(x0, x1, x2) epsilon=1e-06"), std::string::npos)
      << qkv;
  EXPECT_NE(qkv.find("y2 = MatMulNBits(%0, x9, x10)"), std::string::npos) << qkv;
}

TEST(Contrib, FusedGemmIsAGemmAndAnActivation) {
  EXPECT_EQ(microsoft("FusedGemm", {f32({2, 3}), f32({3, 4})},
                      {{"activation", std::string("LeakyRelu")}, {"activation_alpha", 0.5f}, {"transA", int64_t(0)}}),
            "%0 = Gemm(x0, x1) transA=0\ny = LeakyRelu(%0) alpha=0.5\n");
  EXPECT_EQ(
      microsoft("FusedGemm", {f32({2, 3}), f32({3, 4})},
                {{"activation", std::string("ScaledTanh")}, {"activation_alpha", 2.0f}, {"activation_beta", 0.5f}}),
      "%0 = Gemm(x0, x1)\n%1 = Mul(%0, 0.5f)\n%2 = Tanh(%1)\ny = Mul(%2, 2f)\n");
  EXPECT_THROW(microsoft("FusedGemm", {f32({2, 3}), f32({3, 4})}, {{"activation", std::string("Elu")}}), Error);
  const auto product = [](const char* activation, Attributes attributes = {}) {
    attributes.set("activation", std::string(activation));
    return microsoft("FusedMatMulActivation", {f32({2, 3}), f32({3, 4})}, attributes);
  };
  EXPECT_EQ(product("Relu", {{"alpha", 2.0f}}), "%0 = FusedMatMul(x0, x1) alpha=2\ny = Relu(%0)\n");
  EXPECT_EQ(product("Softmax", {{"activation_axis", int64_t(0)}}),
            "%0 = FusedMatMul(x0, x1)\ny = Softmax(%0) axis=0\n");
  EXPECT_EQ(product("Elu", {{"activation_alpha", 0.5f}}), "%0 = FusedMatMul(x0, x1)\ny = Elu(%0) alpha=0.5\n");
  EXPECT_THROW(product("Erf"), Error);
  const Input whole{ValueType::tensor(DType::u64, Shape{2, 2})};
  EXPECT_EQ(microsoft("FusedGemm", {whole, whole}, {{"activation", std::string("Relu")}}), "y = Gemm(x0, x1)\n");
  EXPECT_EQ(microsoft("FusedGemm", {whole, whole}, {{"activation", std::string("Sigmoid")}}),
            "%0 = Gemm(x0, x1)\n%1 = Cast(%0) to=11\n%2 = Sigmoid(%1)\ny = Cast(%2) to=13\n");
}

TEST(Contrib, ScoresHaveTheTypeThatTheModelDeclares) {
  const auto scores = [](DType own, DType declared) {
    const auto x = [&](Shape s) { return Input(ValueType::tensor(own, std::move(s))); };
    const auto g = graph_of(1, "DecoderMaskedMultiHeadAttention", {x({1, 1, 4}), x({1, 1, 4}), x({1, 1, 4})},
                            {{"num_heads", int64_t(2)}, {"output_qk", int64_t(1)}}, 4, "com.microsoft");
    g->value(g->outputs[3]).type = ValueType::tensor(declared);
    lift(*g);
    verify(*g);
    EXPECT_EQ(g->value(g->outputs[3]).type.dtype, declared);
    EXPECT_EQ(g->value(g->outputs[0]).type.dtype, own);
    const std::string lines = text(*g);
    return size_t(std::count(lines.begin(), lines.end(), '\n'));
  };
  EXPECT_EQ(scores(DType::f16, DType::f16), 1u);
  EXPECT_EQ(scores(DType::f16, DType::f32), 3u + 1 + 3);  // inputs and the other outputs are converted
  EXPECT_EQ(scores(DType::f32, DType::f16), 2u);
}

TEST(Contrib, ConvolutionsWithChannelsLast) {
  const Input image = f32({1, 5, 5, 3}), weights = f32({2, 3, 3, 3});
  EXPECT_EQ(
      microsoft("NhwcFusedConv", {image, weights, f32({2}), f32({1, 3, 3, 2})}, {{"activation", std::string("Relu")}}),
      "%0 = Transpose(x3) perm=[0,3,1,2]\n%1 = Transpose(x0) perm=[0,3,1,2]\n%2 = Conv(%1, x1, x2)\n"
      "%3 = Add(%2, %0)\n%4 = Relu(%3)\ny = Transpose(%4) perm=[0,2,3,1]\n");
  EXPECT_THROW(microsoft("NhwcFusedConv", {f32({5, 3}), weights}), Error);
}

TEST(Contrib, DynamicPadsAreThoseOfAConvTransposeOrCutOff) {
  const std::vector<Input> known = {f32({1, 1, 4}), f32({1, 1, 3}), i64({2}, {1, 0})};
  EXPECT_EQ(microsoft("ConvTransposeWithDynamicPads", known), "y = ConvTranspose(x0, x1) pads=[1,0]\n");
  EXPECT_EQ(microsoft("ConvTransposeWithDynamicPads",
                      {f32({1, 1, 4}), f32({1, 1, 3}), ValueType::tensor(DType::i64, Shape{2})}),
            "%0 = ConvTranspose(x0, x1)\n%1 = Neg(x2)\n%2 = Shape(x2)\n%3 = Div(%2, [2])\n%4 = Slice(%1, [0], %3)\n"
            "%5 = Slice(%1, %3, %2)\n%6 = Concat([0,0], %4, [0,0], %5) axis=0\ny = Pad(%0, %6)\n");
  EXPECT_THROW(microsoft("ConvTransposeWithDynamicPads", {f32({1, 1, 4}), f32({1, 1, 3}), i64({2}, {1, -1})}), Error);
}

TEST(Contrib, ExperimentsOfTheFirstOpsets) {
  EXPECT_EQ(lifted(7, "Affine", {f32({2})}, {{"alpha", 2.0f}}), "%0 = Mul(x0, 2f)\ny = Add(%0, 0f)\n");
  EXPECT_EQ(lifted(7, "ParametricSoftplus", {f32({2})}, {{"alpha", 2.0f}, {"beta", 0.5f}}),
            "%0 = Mul(x0, 0.5f)\n%1 = Softplus(%0)\ny = Mul(%1, 2f)\n");
  EXPECT_EQ(lifted(7, "ImageScaler", {f32({1, 2, 3, 3})}, {{"scale", 3.0f}, {"bias", std::vector<float>{1, 2}}}),
            "%0 = Mul(x0, 3f)\n%1 = CastLike([1,2]f, %0)\ny = Add(%0, %1)\n");
  EXPECT_EQ(lifted(7, "Crop", {f32({1, 2, 5, 7})}, {{"border", std::vector<int64_t>{1, 2, 3, 0}}}),
            "y = Slice(x0, [2,1], [9223372036854775807,-3], [2,3])\n");
  EXPECT_EQ(lifted(7, "Crop", {f32({1, 2, 5, 7})},
                   {{"border", std::vector<int64_t>{1, 2, 3, 0}}, {"scale", std::vector<int64_t>{2, 4}}}),
            "y = Slice(x0, [2,1], [4,5], [2,3])\n");
  const Input image = ValueType::tensor(DType::f32);
  EXPECT_EQ(lifted(7, "ImageScaler", {image}, {{"bias", std::vector<float>{1, 2}}}),
            "%0 = Mul(x0, 1f)\n%1 = Split(%0, [2]) axis=1\n%2 = Reshape(%1, [0,2,0,0])\n%3 = CastLike([1,2]f, %2)\n"
            "y = Add(%2, %3)\n");
  EXPECT_EQ(lifted(7, "Crop", {image}, {{"border", std::vector<int64_t>{1, 2, 3, 0}}}),
            "y = Pad(x0, [0,0,-2,-1,0,0,0,-3])\n");
  EXPECT_EQ(
      lifted(7, "Crop", {image}, {{"border", std::vector<int64_t>{1, 2, 3, 0}}, {"scale", std::vector<int64_t>{2, 4}}}),
      "%0 = Pad(x0, [0,0,-2,-1,0,0,0,0])\n%1 = Slice(%0, [0,0], [2,4], [2,3])\n"
      "y = Reshape(%1, [0,0,2,4])\n");
  EXPECT_EQ(lifted(7, "DynamicSlice", {f32({5}), i64({1}, {1}), i64({1}, {2})}), "y = Slice(x0, [1], [2])\n");
  EXPECT_EQ(lifted(13, "MemcpyFromHost", {f32({5})}), "y = Identity(x0)\n");
  EXPECT_THROW(lifted(10, "Affine", {f32({2})}), Error);  // withdrawn
  EXPECT_EQ(lifted(8, "MeanVarianceNormalization", {f32({2, 3, 4, 5})}),
            "y = MeanVarianceNormalization(x0) axes=[0,2,3]\n");
  EXPECT_EQ(lifted(1, "MeanVarianceNormalization", {f32({2, 3})},
                   {{"across_channels", int64_t(1)}, {"normalize_variance", int64_t(0)}}),
            "%0 = ReduceMean(x0, [0,1])\ny = Sub(x0, %0)\n");
  EXPECT_EQ(lifted(8, "MeanVarianceNormalization", {ValueType::tensor(DType::f32)},
                   {{"across_channels", int64_t(1)}, {"normalize_variance", int64_t(0)}}),
            "%0 = Shape(x0)\n%1 = Shape(%0)\n%2 = Slice([0,1,2,3], [0], %1)\n%3 = ReduceMean(x0, %2)\n"
            "y = Sub(x0, %3)\n");
  EXPECT_EQ(lifted(8, "MeanVarianceNormalization", {image}, {{"normalize_variance", int64_t(0)}}),
            "%0 = Shape(x0)\n%1 = Shape(%0)\n%2 = Min(%1, [4])\n%3 = Gather([0,1,1,2,3], %2)\n"
            "%4 = Slice([0,2,3], [0], %3)\n%5 = ReduceMean(x0, %4)\ny = Sub(x0, %5)\n");
  EXPECT_EQ(lifted(8, "MeanVarianceNormalization", {image}), "y = MeanVarianceNormalization(x0) axes=[0,2,3]\n");
  EXPECT_THROW(lifted(7, "Crop", {f32({1, 2, 5, 7})}, {{"border", std::vector<int64_t>{4, 0, 4, 0}}}), Error);
}

TEST(Contrib, OptimisersAreArithmetic) {
  const std::vector<Input> inputs = {f32({}), ValueType::tensor(DType::i64, Shape{}), f32({3}), f32({3}), f32({3})};
  EXPECT_EQ(lifted(1, "Momentum", inputs,
                   {{"alpha", 0.5f}, {"beta", 0.25f}, {"mode", std::string("standard")}, {"norm_coefficient", 0.0f}}, 2,
                   "ai.onnx.preview.training"),
            "%0 = Greater(x1, 0)\n%1 = Where(%0, 0.25f, 1f)\n%2 = Mul(%1, x3)\n%3 = Mul(x4, 0.5f)\n"
            "y1 = Add(%3, %2)\n%4 = CastLike(x0, x2)\n%5 = Mul(%4, y1)\ny = Sub(x2, %5)\n");
}

TEST(Contrib, SparseInitializersAreDenseFactors) {
  const auto product = [](Input a) {
    return microsoft("SparseToDenseMatMul", {std::move(a), f32({4, 3})}, {{"transB", int64_t(1)}, {"alpha", 2.0f}});
  };
  const std::string lifted = product(Tensor::of<float>({2, 3}, {1, 0, 0, 0, 2, 0}));
  EXPECT_TRUE(lifted.starts_with("%0 = Transpose(x1) perm=[1,0]\n%1 = MatMul(")) << lifted;
  EXPECT_TRUE(lifted.ends_with(", %0)\ny = Mul(%1, 2f)\n")) << lifted;
  EXPECT_THROW(product(Tensor::of<float>({2}, {1, 0})), Error);
  EXPECT_THROW(product(f32({2, 3})), Error);  // computed, so it is dense
}

TEST(Contrib, ThoseOfOtherProcessors) {
  const Input states = ValueType::tensor(DType::f16, Shape{1, 2, 3, 4});
  EXPECT_EQ(microsoft("GemmaRotaryEmbedding", {f32({1, 3, 4}), states, states, states, states}, {}, 2),
            "%0 = Sin(x0)\n%1 = Cast(%0) to=10\n%2 = Unsqueeze(%1, [1])\n%3 = Cos(x0)\n%4 = Cast(%3) to=10\n"
            "%5 = Unsqueeze(%4, [1])\n%6 = Mul(x1, %5)\n%7 = Mul(x2, %2)\ny = Add(%6, %7)\n"
            "%8 = Mul(x3, %5)\n%9 = Mul(x4, %2)\ny1 = Add(%8, %9)\n");
  EXPECT_THROW(microsoft("GemmaRotaryEmbedding", {f32({1, 4}), states, states, states, states}, {}, 2), Error);
  EXPECT_EQ(microsoft("TorchEmbedding", {f32({5, 2}), i64({1}, {3})}), "y = Gather(x0, [3])\n");
  EXPECT_THROW(microsoft("TorchEmbedding", {f32({5}), i64({1}, {3})}), Error);
  const Input counts = ValueType::tensor(DType::i32, {2}), places = ValueType::tensor(DType::i32, {2, 3});
  EXPECT_THROW(microsoft("RemovePadding", {f32({2, 3}), counts}, {}, 4), Error);
  EXPECT_THROW(microsoft("RemovePadding", {f32({2, 3, 4}), places}, {}, 4), Error);
  EXPECT_THROW(microsoft("RestorePadding", {f32({2, 3, 4}), places}), Error);
  EXPECT_EQ(
      microsoft("IsAllFinite", {f32({5, 2})}, {{"isnan_only", int64_t(1)}}),
      "%0 = Reshape(x0, [-1])\n%1 = IsNaN(%0)\n%2 = Cast(%1) to=7\n%3 = ReduceSum(%2) keepdims=0\ny = Equal(%3, 0)\n");
}

TEST(Contrib, AttentionOfAnLstmMayHaveALayerOfUnknownShape) {
  const Input free{ValueType::tensor(DType::f32)}, length = i32({1}, {1}), state = f32({1, 1, 2});
  const std::vector<Input> inputs = {
      f32({1, 1, 3}), f32({1, 8, 7}), f32({1, 8, 2}), f32({1, 16}), length,         state,  state,
      f32({1, 6}),    f32({1, 2, 1}), f32({1, 1, 1}), f32({1, 1}),  f32({1, 2, 1}), length, free};
  const std::string lines = microsoft("AttnLSTM", inputs, {{"hidden_size", int64_t(2)}});
  EXPECT_NE(lines.find("y = AttnLSTM(x0"), std::string::npos) << lines;
}

}  // namespace
}  // namespace retort
