#include "ep/channels_last.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace retort {
namespace {

class Wanting : public Provider {
 public:
  const std::string& name() const override { return name_; }
  MemorySpace space() const override { return {}; }
  std::vector<Claim> claim(const Model&, const Graph&) override { return {}; }
  std::shared_ptr<const Compiled> compile(const Partition&) override { return nullptr; }
  std::optional<bool> wants_channels_last(const std::string&, const std::string& type) const override {
    return type == "LRN" ? std::optional(false) : type == "Shrink" ? std::optional(true) : std::nullopt;
  }

 private:
  const std::string name_ = "wanting";
};

class ChannelsLast : public testing::Test {
 protected:
  ChannelsLast() {
    model_.opsets[""] = 18;
    x_ = graph().add_value("x", image(4));
    graph().inputs = {x_};
  }
  Graph& graph() { return *model_.graph; }
  static ValueType image(int64_t channels) { return ValueType::tensor(DType::f32, {1, channels, 6, 8}); }

  NodeId add(const std::string& type, std::vector<ValueId> inputs, size_t outputs = 1) {
    const NodeId id = graph().add({.type = type, .inputs = std::move(inputs), .outputs = outputs, .version = 18});
    for (const ValueId out : graph().node(id).outputs) graph().value(out).type = image(4);
    return id;
  }
  ValueId made(NodeId id) { return graph().node(id).outputs[0]; }
  ValueId constant(const Shape& shape, const std::vector<float>& data) {
    Tensor t(DType::f32, shape);
    std::copy(data.begin(), data.end(), t.mutable_data<float>());
    return graph().add_constant(graph().unique_name("c"), std::move(t));
  }
  std::vector<float> floats(NodeId id, size_t slot) {
    const Tensor* t = graph().constant(graph().node(id).inputs[slot]);
    return {t->data<float>(), t->data<float>() + t->count()};
  }
  /// Changes the graph as if all nodes were claimed.
  std::vector<NodeId> change(ValueId out) {
    graph().outputs = {out};
    Claim all;
    all.nodes.assign(graph().order().begin(), graph().order().end());
    return to_channels_last(model_, graph(), provider_, {all});
  }
  size_t transposes() {
    return size_t(std::ranges::count_if(graph().order(), [&](NodeId id) { return graph().node(id).is("Transpose"); }));
  }

  Model model_;
  Wanting provider_;
  ValueId x_;
};

TEST_F(ChannelsLast, TransposesStandAroundAChainOnly) {
  const NodeId conv = add("Conv", {x_, constant({4, 4, 1, 1}, std::vector<float>(16, 1))});
  const NodeId relu = add("Relu", {made(conv)});
  const NodeId pool = add("MaxPool", {made(relu)});
  EXPECT_EQ(change(made(pool)), (std::vector{conv, pool}));
  EXPECT_EQ(transposes(), 2u);
  EXPECT_EQ(graph().node(conv).domain, kChannelsLastDomain);
  EXPECT_EQ(graph().node(relu).domain, "");
  EXPECT_EQ(graph().value(made(relu)).type.shape, Shape({1, 6, 8, 4}));
  EXPECT_EQ(graph().value(graph().outputs[0]).type.shape, Shape({1, 4, 6, 8}));
  EXPECT_EQ(model_.opsets.at(kChannelsLastDomain), 18);
}

TEST_F(ChannelsLast, OnlyOnce) {
  const NodeId shrink = add("Shrink", {x_});
  graph().node(shrink).domain = kChannelsLastDomain;
  EXPECT_TRUE(change(made(shrink)).empty());
  EXPECT_EQ(transposes(), 0u);
}

TEST_F(ChannelsLast, ModelsWithoutTheUsualOperators) {
  const NodeId shrink = add("Shrink", {x_});
  graph().node(shrink).domain = "com.example";
  model_.opsets = {{"com.example", 1}};
  EXPECT_EQ(change(made(shrink)), std::vector{shrink});
  EXPECT_EQ(model_.opsets.at(""), 13);
}

TEST_F(ChannelsLast, EntriesOfResizeFollowTheAxes) {
  const NodeId resize = add("Resize", {x_, ValueId::none, constant({4}, {1, 2, 3, 4})});
  EXPECT_EQ(change(made(resize)).size(), 1u);
  EXPECT_EQ(floats(resize, 2), (std::vector<float>{1, 3, 4, 2}));
}

TEST_F(ChannelsLast, RegionsOfResizeHaveTwoEntriesForEachAxis) {
  const NodeId resize = add("Resize", {x_, constant({8}, {1, 2, 3, 4, 5, 6, 7, 8}), constant({4}, {1, 1, 2, 2})});
  EXPECT_EQ(change(made(resize)).size(), 1u);
  EXPECT_EQ(floats(resize, 1), (std::vector<float>{1, 3, 4, 2, 5, 7, 8, 6}));
}

TEST_F(ChannelsLast, BroadcastInputsAreTransposedToo) {
  const NodeId pool = add("AveragePool", {x_});
  const NodeId slope = add("PRelu", {made(pool), constant({4, 1, 1}, {1, 2, 3, 4})});
  const NodeId added = add("Add", {constant({6, 1}, {1, 2, 3, 4, 5, 6}), made(slope)});
  change(made(added));
  EXPECT_EQ(graph().constant(graph().node(slope).inputs[1])->shape(), Shape({1, 1, 1, 4}));
  EXPECT_EQ(graph().constant(graph().node(added).inputs[0])->shape(), Shape({1, 6, 1, 1}));
  EXPECT_EQ(transposes(), 2u);
}

TEST_F(ChannelsLast, AnyElementwiseOperatorFollows) {
  const NodeId pool = add("AveragePool", {x_});
  const ValueId least = graph().add_value("least", ValueType::tensor(DType::f32, {}));
  graph().inputs.push_back(least);
  const NodeId clip = add("Clip", {made(pool), least});
  const NodeId where = add("Where", {made(add("IsNaN", {made(clip)})), constant({1}, {0}), made(clip)});
  change(made(where));
  EXPECT_EQ(graph().node(clip).inputs, (std::vector{made(pool), least}));
  EXPECT_EQ(graph().node(where).inputs[2], made(clip));
  EXPECT_EQ(graph().value(made(where)).type.shape, Shape({1, 6, 8, 4}));
  EXPECT_EQ(transposes(), 2u);
}

TEST_F(ChannelsLast, AdditionsThatNameAnAxisStay) {
  const NodeId pool = add("AveragePool", {x_});
  const NodeId sum = add("Add", {made(pool), constant({4}, {1, 2, 3, 4})});
  graph().node(sum).attributes.set("broadcast", int64_t(1));
  graph().node(sum).attributes.set("axis", int64_t(1));
  change(made(sum));
  EXPECT_EQ(graph().constant(graph().node(sum).inputs[1])->shape(), Shape({4}));
  EXPECT_EQ(graph().value(made(sum)).type.shape, Shape({1, 4, 6, 8}));
}

TEST_F(ChannelsLast, ConcatenatesAlongTheSameAxis) {
  const NodeId a = add("AveragePool", {x_}), b = add("MaxPool", {x_});
  const NodeId both = add("Concat", {made(a), made(b)});
  graph().node(both).attributes.set("axis", int64_t(-3));
  graph().value(made(both)).type = image(8);
  change(made(both));
  EXPECT_EQ(graph().node(both).attributes.get_or<int64_t>("axis", 0), 3);
  EXPECT_EQ(transposes(), 2u);
}

TEST_F(ChannelsLast, TheProviderHasTheLastWord) {
  const NodeId lrn = add("LRN", {x_}), shrink = add("Shrink", {made(lrn)});
  EXPECT_EQ(change(made(shrink)), std::vector{shrink});
}

TEST_F(ChannelsLast, LeavesNodesWhoseMeaningWouldChange) {
  const NodeId pool = add("MaxPool", {x_}, 2);  // its indices count elements in order
  // The scales are only known during a run.
  const NodeId resize = add("Resize", {made(pool), ValueId::none, graph().add_value("scales")});
  const NodeId sum = add("Softmax", {made(resize)});
  EXPECT_TRUE(change(made(sum)).empty());
  EXPECT_EQ(transposes(), 0u);
}

TEST_F(ChannelsLast, ModelsOfOtherDomainsOnlyAreLeft) {
  model_.opsets = {{"ai.onnx.ml", 3}};
  const NodeId other = add("LabelEncoder", {x_});
  graph().node(other).domain = "ai.onnx.ml";
  EXPECT_TRUE(change(made(other)).empty());
  EXPECT_FALSE(model_.opsets.contains(""));
}

TEST_F(ChannelsLast, NamesNodesThatAreNotClaimedAgain) {
  const NodeId pool = add("MaxPool", {x_});
  const std::vector<NodeId> changed = change(made(pool));
  try {
    check_claimed(graph(), provider_, changed, {});
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'wanting' asked for node"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace retort
