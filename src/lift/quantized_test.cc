// Rules for operators on codes: what the lifted graph computes, beside numbers worked out by hand.
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "lift/lift.h"
#include "ops/evaluate.h"

namespace retort {
namespace {

/// The results of a node of com.microsoft after the lift; an empty tensor is an omitted input.
std::vector<Tensor> lifted_results(const char* type, const std::vector<Tensor>& inputs, Attributes attributes = {},
                                   size_t outputs = 1) {
  Graph g(std::make_shared<DimTable>());
  NodeSpec spec{.type = type,
                .attributes = std::move(attributes),
                .domain = "com.microsoft",
                .name = "n",
                .outputs = outputs,
                .version = 1};
  std::map<ValueId, Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    spec.inputs.push_back(ValueId::none);
    if (!inputs[i]) continue;
    spec.inputs[i] = g.add_value("x" + std::to_string(i), ValueType::tensor(inputs[i].dtype(), inputs[i].shape()));
    g.inputs.push_back(spec.inputs[i]);
    values[spec.inputs[i]] = inputs[i];
  }
  const NodeId id = g.add(std::move(spec));
  g.outputs = g.node(id).outputs;
  lift(g);
  for (const NodeId n : g.order()) {
    const Node& node = g.node(n);
    std::vector<const Value*> in;
    for (const ValueId v : node.inputs) {
      if (v != ValueId::none && !values.contains(v)) values[v] = *g.constant(v);
      in.push_back(v == ValueId::none ? nullptr : &values.at(v));
    }
    std::vector<Value> out = evaluate(node, in);
    for (size_t i = 0; i < out.size(); ++i)
      if (node.outputs[i] != ValueId::none) values[node.outputs[i]] = std::move(out[i]);
  }
  std::vector<Tensor> results;
  for (const ValueId v : g.outputs) results.push_back(*values.at(v).get<Tensor>());
  return results;
}
template <typename T>
std::vector<T> numbers_of(const Tensor& t) {
  return {t.data<T>(), t.data<T>() + t.count()};
}
template <typename T>
std::vector<T> lifted_numbers(const char* type, const std::vector<Tensor>& inputs, Attributes attributes = {}) {
  return numbers_of<T>(lifted_results(type, inputs, std::move(attributes))[0]);
}

using Bytes = std::vector<uint8_t>;
Tensor bytes(Shape shape, const Bytes& values) { return Tensor::of<uint8_t>(std::move(shape), values); }
Tensor byte(uint8_t value) { return bytes({}, {value}); }
Tensor number(float value) { return Tensor::of<float>({}, {value}); }
const Tensor kOmitted;

TEST(LiftQuantized, AttentionWithMasksOfPadding) {
  // The weights make queries and keys 0 and values the codes, so that what is seen counts equally.
  const Tensor x = bytes({1, 2, 1}, {1, 3}), w = Tensor::of<int8_t>({1, 3}, {0, 0, 1});
  const Tensor bias = Tensor::of<float>({3}, {0, 0, 0});
  const Attributes heads{{"num_heads", int64_t(1)}};
  const auto attended = [&](const Tensor& mask) {
    return lifted_numbers<float>("QAttention", {x, w, bias, number(1), number(1), mask}, heads);
  };
  EXPECT_EQ(attended(kOmitted), (std::vector<float>{2, 2}));
  EXPECT_EQ(attended(Tensor::of<int32_t>({1}, {1})), (std::vector<float>{1, 1}));        // lengths
  EXPECT_EQ(attended(Tensor::of<int32_t>({2}, {2, 1})), (std::vector<float>{3, 3}));     // ends and starts
  EXPECT_EQ(attended(Tensor::of<int32_t>({1, 2}, {0, 1})), (std::vector<float>{3, 3}));  // keys
  EXPECT_EQ(attended(Tensor::of<int32_t>({1, 2, 2}, {1, 0, 0, 1})), (std::vector<float>{1, 3}));
}

TEST(LiftQuantized, SumAndProductOfCodes) {
  const Tensor a = bytes({3}, {10, 20, 30}), b = bytes({1}, {13});
  // 0.5 · (a - 10) + 2 · (b - 12), over 2.5, + 7, half to even: 2/2.5 = 0.8, 7/2.5 = 2.8, 12/2.5 = 4.8
  EXPECT_EQ(
      lifted_numbers<uint8_t>("QLinearAdd", {a, number(0.5f), byte(10), b, number(2), byte(12), number(2.5f), byte(7)}),
      (Bytes{8, 10, 12}));
  EXPECT_EQ(lifted_numbers<uint8_t>("QLinearMul", {a, number(0.5f), byte(10), b, number(2), byte(12), number(4)}),
            (Bytes{0, 2, 5}));
  const Tensor two = Tensor::of<float>({2}, {1, 1});
  EXPECT_THROW(lifted_results("QLinearAdd", {a, two, byte(10), b, number(2), byte(12), number(2), byte(7)}), Error);
}

TEST(LiftQuantized, FunctionsOfCodes) {
  const Tensor x = bytes({1, 1, 4}, {0, 2, 4, 6}), one = number(1);
  EXPECT_EQ(lifted_numbers<uint8_t>("QLinearLeakyRelu", {x, one, byte(4), one, byte(10)}, {{"alpha", 0.5f}}),
            (Bytes{8, 9, 10, 12}));
  EXPECT_EQ(lifted_numbers<uint8_t>("QLinearSigmoid", {x, number(100), byte(3), number(1 / 256.0f), byte(0)}),
            (Bytes{0, 0, 255, 255}));
  EXPECT_EQ(lifted_numbers<uint8_t>("QLinearGlobalAveragePool", {x, one, byte(0), number(0.5f), byte(1)}), (Bytes{7}));
  EXPECT_EQ(lifted_numbers<uint8_t>("QLinearGlobalAveragePool", {x, one, byte(0), one, byte(1)},
                                    {{"channels_last", int64_t(1)}}),
            (Bytes{1, 3, 5, 7}));
  EXPECT_EQ(lifted_numbers<uint8_t>("QLinearAveragePool", {x, one, byte(0), one, byte(0)},
                                    {{"kernel_shape", std::vector<int64_t>{2}}}),
            (Bytes{1, 3, 5}));
  EXPECT_EQ(lifted_numbers<uint8_t>("QLinearReduceMean", {x, one, byte(0), one, byte(0)},
                                    {{"axes", std::vector<int64_t>{2}}, {"keepdims", int64_t(0)}}),
            (Bytes{3}));
}

TEST(LiftQuantized, SoftmaxOverOneAxisOrAllBehindIt) {
  const Tensor x = bytes({2, 2}, {5, 5, 5, 5}), step = number(1 / 256.0f);
  const auto softmax = [&](int64_t opset) {
    return lifted_numbers<uint8_t>("QLinearSoftmax", {x, number(1), byte(0), step, byte(0)},
                                   {{"axis", int64_t(0)}, {"opset", opset}});
  };
  EXPECT_EQ(softmax(12), (Bytes{64, 64, 64, 64}));
  EXPECT_EQ(softmax(13), (Bytes{128, 128, 128, 128}));
}

TEST(LiftQuantized, ChoiceAndConcatenation) {
  const Tensor c = Tensor::of<bool>({2}, {true, false}), a = bytes({2}, {1, 2}), b = bytes({2}, {3, 4});
  EXPECT_EQ(
      lifted_numbers<uint8_t>("QLinearWhere", {c, a, number(1), byte(0), b, number(2), byte(1), number(1), byte(0)}),
      (Bytes{1, 6}));
  EXPECT_EQ(lifted_numbers<uint8_t>("QLinearConcat", {number(1), byte(0), a, number(1), byte(0), b, number(2), byte(1)},
                                    {{"axis", int64_t(0)}}),
            (Bytes{1, 2, 4, 6}));
  EXPECT_THROW(lifted_results("QLinearConcat", {number(1), byte(0), a, number(1)}, {{"axis", int64_t(0)}}), Error);
  const Tensor one = Tensor::of<float>({1, 1}, {1}), two = Tensor::of<float>({1, 2}, {1, 2});
  for (const Tensor& scale : {one, two})
    EXPECT_THROW(lifted_results("QLinearConcat", {number(1), byte(0), a, scale, byte(0)}, {{"axis", int64_t(0)}}),
                 Error);
}

TEST(LiftQuantized, Products) {
  const Tensor a = bytes({1, 2}, {1, 3}), b = bytes({2, 2}, {1, 2, 3, 4}), columns = Tensor::of<float>({2}, {1, 2});
  const Tensor bias = Tensor::of<float>({2}, {0.5f, 0});
  // (0, 2) · ((0, 1), (2, 3)) = (4, 6)
  using Floats = std::vector<float>;
  EXPECT_EQ(lifted_numbers<float>("MatMulIntegerToFloat", {a, b, number(0.5f), columns, byte(1), byte(1), bias}),
            (Floats{2.5f, 6}));
  const std::vector<float16> halves{float16(0.001f), float16(1)};
  const auto half = [&](size_t i) { return Tensor::of<float16>({}, {halves[i]}); };
  // 255 · 255 · 2 is not a number of float16, but a thousandth of it is.
  EXPECT_EQ(float(lifted_numbers<float16>("MatMulIntegerToFloat",
                                          {bytes({1, 2}, {255, 255}), bytes({2, 1}, {255, 255}), half(0), half(1)})[0]),
            130.125f);
  EXPECT_EQ(lifted_numbers<float>(
                "QGemm", {a, number(0.5f), byte(1), b, columns, bytes({2}, {1, 1}), Tensor::of<int32_t>({2}, {1, -1})},
                {{"alpha", 2.0f}}),
            (Floats{5, 10}));
  EXPECT_EQ(lifted_numbers<uint8_t>("QGemm",
                                    {bytes({2, 1}, {1, 3}), number(1), byte(1), bytes({2, 2}, {1, 3, 2, 4}), number(1),
                                     byte(1), kOmitted, number(4), byte(10)},
                                    {{"transA", int64_t(1)}, {"transB", int64_t(1)}}),
            (Bytes{11, 12}));
  EXPECT_EQ(lifted_numbers<float>("DynamicQuantizeMatMul",
                                  {Tensor::of<float>({1, 2}, {0, 255}), b, number(1), byte(1), bias}),
            (Floats{510.5f, 765}));
  EXPECT_EQ(lifted_numbers<int32_t>("MatMulInteger16",
                                    {Tensor::of<int16_t>({1, 2}, {-300, 2}), Tensor::of<int16_t>({2, 1}, {300, 5})}),
            (std::vector<int32_t>{-89990}));
  EXPECT_EQ(lifted_numbers<int32_t>("MulInteger", {a, byte(2), bytes({2}, {10, 20}), kOmitted}),
            (std::vector<int32_t>{-10, 20}));
  EXPECT_THROW(lifted_results("MulInteger", {a, bytes({2}, {2, 3}), bytes({2}, {10, 20}), kOmitted}), Error);
  EXPECT_EQ(
      lifted_numbers<uint32_t>("ReduceSumInteger", {b}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t(0)}}),
      (std::vector<uint32_t>{3, 7}));
}

TEST(LiftQuantized, FormsOfTheStandardOperators) {
  const Tensor x = bytes({1, 2, 2, 1}, {1, 2, 3, 4}), one = number(1);
  EXPECT_EQ(lifted_numbers<uint8_t>("NhwcMaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{1, 2}}}), (Bytes{2, 4}));
  EXPECT_EQ(
      lifted_numbers<uint8_t>("QLinearConv", {x, one, byte(0), bytes({2, 1, 1, 1}, {1, 2}), one, byte(0), one, byte(0)},
                              {{"channels_last", int64_t(1)}}),
      (Bytes{1, 2, 2, 4, 3, 6, 4, 8}));
  EXPECT_EQ(lifted_numbers<uint8_t>("QuantizeLinear", {Tensor::of<float>({2}, {1, 2}), number(0.5f), byte(3)}),
            (Bytes{5, 7}));
  EXPECT_EQ(lifted_numbers<float>("DequantizeLinear", {bytes({2}, {1, 2}), number(0.5f), byte(3)}),
            (std::vector<float>{-1, -0.5f}));
}

TEST(LiftQuantized, EmbeddingsAreAddedAndNormalised) {
  const Tensor ids = Tensor::of<int32_t>({1, 2}, {1, 0}), mask = Tensor::of<int32_t>({1, 2}, {1, 2});
  const Tensor words = bytes({2, 2}, {1, 1, 2, 4}), positions = bytes({3, 2}, {0, 0, 1, 3, 9, 9});
  const Tensor ones = bytes({2}, {1, 1}), zeros = bytes({2}, {0, 0}), one = number(1), zero = byte(0);
  const auto results = lifted_results("QEmbedLayerNormalization",
                                      {ids, kOmitted, words, positions, kOmitted, ones, zeros, mask, one, one, kOmitted,
                                       one, one, zero, zero, kOmitted, zero, zero},
                                      {}, 2);
  const std::vector<float> wanted{-1, 1, -1, 1};
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(results[0].data<float>()[i], wanted[i], 1e-6);
  EXPECT_EQ(numbers_of<int32_t>(results[1]), (std::vector<int32_t>{1}));
}

}  // namespace
}  // namespace retort
