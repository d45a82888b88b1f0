// Operators of com.microsoft.nchwc, whose images have blocks of channels.
#include <string>

#include "lift/lift_testing.h"

namespace retort {
namespace {

using namespace lift_testing;  // NOLINT: the words of these tests

std::string nchwc(const char* type, std::vector<Input> inputs, Attributes attributes = {}) {
  return lifted(1, type, std::move(inputs), std::move(attributes), 1, "com.microsoft.nchwc");
}

size_t count_of(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// Weights of 24 outputs tell that the blocks have 8 channels.
TEST(Nchwc, BlockedChannelsAreFoldedAway) {
  auto g = std::make_shared<Graph>(std::make_shared<DimTable>());
  const auto value = [&](const char* name, Shape shape) {
    const ValueId id = g->add_value(name, ValueType::tensor(DType::f32, std::move(shape)));
    g->inputs.push_back(id);
    return id;
  };
  const auto add = [&](const char* type, std::vector<ValueId> inputs, Attributes attributes, const char* domain) {
    const NodeId id = g->add({.type = type,
                              .inputs = std::move(inputs),
                              .attributes = std::move(attributes),
                              .domain = domain,
                              .version = 1});
    return g->node(id).outputs[0];
  };
  constexpr const char* kNchwc = "com.microsoft.nchwc";
  const ValueId x = value("x", {1, 8, 5, 5}), w = value("w", {24, 8, 1, 1}), v = value("v", {24, 24, 3, 3});
  ValueId y = add("ReorderInput", {x}, {}, kNchwc);
  y = add("Conv", {y, w}, {{"activation", std::string("Relu")}}, kNchwc);
  y = add("Sigmoid", {y}, {}, "");
  y = add("Conv", {y, v}, {}, kNchwc);
  y = add("MaxPool", {y}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}, kNchwc);
  y = add("ReorderOutput", {y}, {{"channels", int64_t(20)}}, kNchwc);
  g->outputs.push_back(y);
  lift(*g);
  verify(*g);
  // The output needs the images only: nothing of it is brought into blocks, or out of them.
  std::string needed;
  std::vector<ValueId> open = {g->outputs[0]};
  while (!open.empty()) {
    const Node* n = g->producer(open.back());
    open.pop_back();
    if (!n) continue;
    needed += n->type + " ";
    for (const ValueId input : n->inputs) open.push_back(input);
  }
  EXPECT_EQ(count_of(needed, "Conv"), 2u) << needed;
  EXPECT_EQ(count_of(needed, "Transpose"), 2u) << needed;  // of the two weights
  EXPECT_EQ(count_of(needed, "Shape "), 0u) << needed;
  EXPECT_EQ(to_string(g->value(g->outputs[0]).type.shape), "[1,20,2,2]");
}

TEST(Nchwc, ErrorsShowTheNamesOfExtents) {
  auto g = std::make_shared<Graph>(std::make_shared<DimTable>());
  const ValueId x = g->add_value("x", ValueType::tensor(DType::f32, {1, g->dims().symbol("channels"), 5}));
  g->inputs.push_back(x);
  const NodeId id = g->add({.type = "ReorderOutput",
                            .inputs = {x},
                            .attributes = {{"channels", int64_t(8)}},
                            .domain = "com.microsoft.nchwc",
                            .version = 1});
  g->outputs.push_back(g->node(id).outputs[0]);
  try {
    lift(*g);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("the shape is [1,channels,5], expected [N, C, H, W]"), std::string::npos)
        << e.what();
  }
}

TEST(Nchwc, WeightsTellTheChannelsOfAnImage) {
  auto g = std::make_shared<Graph>(std::make_shared<DimTable>());
  const auto extent = [&](const char* name) { return g->dims().symbol(name); };
  const Shape image{extent("n"), extent("c"), extent("h"), extent("w")};
  const ValueId x = g->add_value("x", ValueType::tensor(DType::f32, image));
  const ValueId w = g->add_value("w", ValueType::tensor(DType::f32, {32, 16, 1, 1}));
  g->inputs = {x, w};
  const auto add = [&](const char* type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    NodeSpec spec{.type = type, .inputs = std::move(inputs), .attributes = std::move(attributes)};
    spec.domain = "com.microsoft.nchwc";
    spec.version = 1;
    return g->node(g->add(std::move(spec))).outputs[0];
  };
  g->outputs.push_back(add("ReorderOutput", {add("Conv", {add("ReorderInput", {x}), w})}, {{"channels", int64_t(32)}}));
  lift(*g);
  verify(*g);
  const std::string lines = text(*g);
  EXPECT_NE(lines.find("Reshape(x, [0,16,0,0])"), std::string::npos) << lines;
  const std::string unknown = nchwc("ReorderInput", {ValueType::tensor(DType::f32)});
  EXPECT_NE(unknown.find("= Pad(x0, "), std::string::npos) << unknown;
}

TEST(Nchwc, BlockedWeightsAreBroughtIntoOrder) {
  const std::string both = nchwc("Conv", {f32({1, 8, 5, 5}), f32({24, 8, 1, 1})});
  EXPECT_NE(both.find("Transpose(%4) perm=[0,5,1,4,2,3]"), both.npos) << both;
  const std::string outputs = nchwc("Conv", {f32({1, 3, 5, 5}), f32({24, 3, 1, 1})});
  EXPECT_NE(outputs.find("perm=[0,4,1,2,3]"), outputs.npos) << outputs;
  EXPECT_NE(outputs.find("Conv(x0, "), outputs.npos) << outputs;  // a plain image
}

// As MobileNetV3 has it when it is saved.
TEST(Nchwc, HardSwishOfAConvolutionIsANodeOfItsOwn) {
  const std::string text =
      nchwc("Conv", {f32({1, 16, 5, 5}), f32({16, 16, 1, 1})}, {{"activation", std::string("HardSwish")}});
  EXPECT_EQ(count_of(text, "HardSwish"), 1u) << text;
  EXPECT_EQ(count_of(text, "activation"), 0u) << text;
}

}  // namespace
}  // namespace retort
