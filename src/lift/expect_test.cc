// What the definitions of lifted operators say about the shapes of their inputs.
#include "lift/lift_testing.h"

namespace retort {
namespace {

using namespace lift_testing;
constexpr const char* kMicrosoft = "com.microsoft";

Input of(DType type, Shape shape) { return ValueType::tensor(type, std::move(shape)); }
Input u8(Shape shape) { return of(DType::u8, std::move(shape)); }
Input half(Shape shape) { return of(DType::f16, std::move(shape)); }
Input i32(Shape shape) { return of(DType::i32, std::move(shape)); }
Input unknown(const Input& x) { return x.missing ? kMissing : Input(ValueType::tensor(x.type.dtype)); }

struct Shapes {
  const char* type;
  std::vector<Input> inputs;
  std::map<size_t, std::vector<Shape>> wrong;  // other shapes of an input
  Attributes attributes = {};
  size_t outputs = 1;
};

const std::vector<Shapes>& shapes_of_operators() {
  static const std::vector<Shapes> all{
      {"QEmbedLayerNormalization",
       {i32({3, 5}), i32({3, 5}), u8({7, 4}), u8({6, 4}), u8({2, 4}), u8({4}), u8({4}), i32({3, 5}), f32({}), f32({}),
        f32({}), f32({}), f32({}), u8({}), u8({}), u8({}), u8({}), u8({})},
       {{0, {{15}, {3, 5, 1}}},
        {1, {{1, 5}, {5}}},
        {2, {{1, 7, 4}}},
        {3, {{6, 1}}},
        {4, {{2, 1}}},
        {5, {{1}, {1, 4}, {}}},
        {6, {{1}, {4, 1}}},
        {7, {{1, 5}, {5}}},
        {8, {{2}, {1, 1}}},
        {13, {{2}, {1, 1}}}},
       {},
       2},
      {"QAttention",
       {u8({2, 3, 4}), u8({4, 12}), f32({12}), f32({}), f32({12}), kMissing, u8({}), u8({1}), f32({2, 2, 1, 3, 4})},
       {{0, {{6, 4}}},
        {1, {{1, 4, 12}}},
        {2, {{1}, {1, 12}, {}}},
        {3, {{2}, {1, 1}}},
        {4, {{1, 12}, {4}}},
        {7, {{1, 1}, {4}}},
        {8, {{3, 2, 1, 3, 4}}}},
       {{"num_heads", int64_t(1)}},
       2},
      {"QGemm",
       {u8({2, 3}), f32({}), u8({}), u8({3, 4}), f32({4}), u8({4}), i32({4})},
       {{0, {{1, 2, 3}}}, {3, {{1, 3, 4}}}, {4, {{1, 4}, {3}}}, {5, {{1, 4}, {3}}}, {6, {{1, 1, 4}}}}},
      {"DynamicQuantizeMatMul", {f32({2, 3}), u8({3, 4}), f32({4}), u8({4}), f32({4})}, {{2, {{3}}}, {4, {{1}, {}}}}},
      {"MatMulIntegerToFloat",
       {u8({2, 3}), u8({3, 4}), f32({}), f32({4}), kMissing, kMissing, f32({4})},
       {{2, {{2}}}, {3, {{3}}}, {6, {{1}, {}}}}},
      {"Attention",
       {f32({2, 3, 4}), f32({4, 12}), f32({12})},
       {{1, {{1, 4, 12}}}, {2, {{1}, {1, 12}}}},
       {{"num_heads", int64_t(1)}}},
      // Fewer heads of keys than of queries.
      {"GemmaRotaryEmbedding",
       {f32({1, 3, 4}), half({1, 2, 3, 4}), half({1, 2, 3, 4}), half({1, 1, 3, 4}), half({1, 1, 3, 4})},
       {{2, {{1, 1, 3, 4}}}, {3, {{1, 1, 2, 4}, {2, 1, 3, 4}}}, {4, {{1, 2, 3, 4}}}},
       {},
       2},
      {"FusedConv",
       {f32({1, 2, 4, 4}), f32({3, 2, 1, 1}), f32({3}), f32({1, 3, 4, 4})},
       {{2, {{1, 3}, {1}}}, {3, {{1, 3, 1, 4}}}}},
  };
  return all;
}

TEST(Expect, ShapesThatFitAddNothing) {
  for (const Shapes& row : shapes_of_operators()) {
    const std::string text = lifted(1, row.type, row.inputs, row.attributes, row.outputs, kMicrosoft);
    EXPECT_EQ(text.find("= Expect("), text.npos) << text;
  }
}

TEST(Expect, OtherShapesAreRefusedAndUnknownOnesAreCheckedByARun) {
  for (const Shapes& row : shapes_of_operators()) {
    for (const auto& [i, shapes] : row.wrong) {
      std::vector<Input> inputs = row.inputs;
      for (const Shape& shape : shapes) {
        SCOPED_TRACE(cat("{} input {} {}", row.type, i, shape));
        inputs[i] = of(row.inputs[i].type.dtype, shape);
        EXPECT_THROW(lifted(1, row.type, inputs, row.attributes, row.outputs, kMicrosoft), Error);
      }
      inputs[i] = unknown(row.inputs[i]);
      const std::string text = lifted(1, row.type, inputs, row.attributes, row.outputs, kMicrosoft);
      const bool ranks_alone = row.type == std::string("QGemm") && i == 6;
      EXPECT_EQ(text.find("= Expect(") == text.npos, ranks_alone) << row.type << " input " << i << "\n" << text;
    }
  }
}

// Two inputs of a graph may differ in an extent to which the model gives one name.
TEST(Expect, NamesOfExtentsAreNotTrusted) {
  const auto text_of = [](const char* other) {
    auto g = std::make_shared<Graph>(std::make_shared<DimTable>());
    const auto input = [&](const char* name, Shape shape) {
      g->inputs.push_back(g->add_value(name, ValueType::tensor(DType::f32, std::move(shape))));
      return g->inputs.back();
    };
    const Dim batch = g->dims().symbol("batch");
    const ValueId x = input("x", {batch, 2, 4, 4}), w = g->add_constant("w", Tensor(DType::f32, {2, 2, 1, 1})),
                  z = input("z", {g->dims().symbol(other), 2, 4, 4});
    const NodeId id = g->add(
        {.type = "FusedConv", .inputs = {x, w, ValueId::none, z}, .domain = kMicrosoft, .name = "n", .version = 1});
    g->outputs.push_back(g->node(id).outputs[0]);
    lift(*g);
    return text(*g);
  };
  for (const char* other : {"batch", "rows"}) EXPECT_NE(text_of(other).find("= Expect(z, "), std::string::npos);
}

TEST(Expect, OlderFormsHaveNoBroadcastingAndEqualParts) {
  for (const char* type : {"Max", "Min", "Mean", "Sum"}) {
    EXPECT_THROW(lifted(6, type, {f32({2, 3}), f32({3})}), Error) << type;
    EXPECT_NE(lifted(6, type, {f32({2, 3}), Input(ValueType::tensor(DType::f32))}).find("= Expect("),
              std::string::npos);
    lifted(8, type, {f32({2, 3}), f32({3})});
  }
  EXPECT_THROW(lifted(13, "Split", {f32({5})}, {}, 2), Error);
  lifted(18, "Split", {f32({5})}, {{"num_outputs", int64_t(2)}}, 2);
  EXPECT_THROW(lifted(11, "Softmax", {f32({})}, {{"axis", int64_t(0)}}), Error);
}

}  // namespace
}  // namespace retort
