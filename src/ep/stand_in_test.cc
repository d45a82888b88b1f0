#include "ep/stand_in.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ep/channels_last.h"
#include "ep/cpu.h"
#include "ep/partition.h"

namespace retort {
namespace {

/// Claims nodes of one type, each as a part with a stand-in.
class Keeping : public Provider {
 public:
  Keeping(std::string name, std::string type) : name_(std::move(name)), type_(std::move(type)) {}
  const std::string& name() const override { return name_; }
  MemorySpace space() const override { return {}; }
  std::vector<Claim> claim(const Model&, const Graph& graph) override {
    std::vector<Claim> all;
    for (const NodeId id : graph.order()) {
      if (graph.node(id).type == type_) all.push_back({.nodes = {id}, .single = single});
    }
    return all;
  }
  bool prefers_channels_last() const override { return channels_last; }
  std::shared_ptr<const Compiled> compile(const Partition& part) override {
    return std::make_shared<Part>(*part.graph, change, single);
  }

  bool channels_last = false;
  bool single = false;                   // whether it claims single nodes, without stand-ins
  std::function<void(StandIn&)> change;  // changes the stand-in

 private:
  struct Part : Compiled {
    Part(const Graph& g, const std::function<void(StandIn&)>& change, bool single) {
      if (single) return;
      StandIn& s =
          made.emplace(StandIn{.domain = "com.microsoft", .type = "EPContext", .name = "kept", .attributes = {}});
      for (const ValueId in : g.inputs) s.inputs.push_back(g.value(in).name);
      for (const ValueId out : g.outputs) s.outputs.push_back(g.value(out).name);
      if (change) change(s);
    }
    void run(PartitionRun&) const override {}
    MemorySpace input_space(size_t) const override { return {}; }
    MemorySpace output_space(size_t) const override { return {}; }
    const StandIn* stand_in() const override { return made ? &*made : nullptr; }
    std::optional<StandIn> made;
  };
  const std::string name_, type_;
};

/// y = Relu(GlobalAveragePool(Abs x)), on images.
struct StandIns : testing::Test {
  StandIns() {
    model.opsets[""] = 17;
    Graph& g = *model.graph;
    ValueId last = g.add_value("x", ValueType::tensor(DType::f32, {1, 3, 4, 4}));
    g.inputs = {last};
    const auto then = [&](const char* type, const char* out, const Shape& shape) {
      last = g.node(g.add({.type = type, .inputs = {last}, .name = type, .version = 17})).outputs[0];
      g.value(last).name = out;
      g.value(last).type = ValueType::tensor(DType::f32, shape);
    };
    then("Abs", "a", {1, 3, 4, 4});
    then("GlobalAveragePool", "b", {1, 3, 1, 1});
    then("Relu", "y", {1, 3, 1, 1});
    g.outputs = {last};
  }
  std::shared_ptr<Graph> keep(std::vector<std::shared_ptr<Provider>> providers) {
    SessionDevices devices;
    devices.providers = std::move(providers);
    Model shown = model;
    shown.graph = model.graph->clone();
    const auto parts = partition(shown, devices);
    const auto copy = shown.graph->clone();
    put_stand_ins(*copy, parts, *shown.graph);
    verify(*copy);
    return copy;
  }
  std::string error_of(const std::function<void(StandIn&)>& change) {
    const auto provider = std::make_shared<Keeping>("one", "GlobalAveragePool");
    provider->change = change;
    try {
      keep({provider});
    } catch (const Error& e) {
      return e.message();
    }
    return "no error";
  }
  static std::string nodes(const Graph& g) {
    std::string all;
    for (const NodeId id : g.order()) {
      const Node& n = g.node(id);
      all += cat("{} = {} {}; ", g.value(n.outputs[0]).name, n.type, g.value(n.inputs[0]).name);
    }
    return all;
  }
  Model model;
};

TEST_F(StandIns, TakeThePlaceOfParts) {
  const auto one = std::make_shared<Keeping>("one", "GlobalAveragePool");
  EXPECT_EQ(nodes(*keep({one})), "a = Abs x; b = EPContext a; y = Relu b; ");
}

TEST_F(StandIns, PartsWithoutAreTheirNodesAgain) {
  const auto one = std::make_shared<Keeping>("one", "GlobalAveragePool"),
             two = std::make_shared<Keeping>("two", "Relu");
  two->single = true;
  EXPECT_EQ(nodes(*keep({one, two})), "a = Abs x; b = EPContext a; y = Relu b; ");
}

// The first part reads and makes values that the second converts to another layout: names refer to the values as they
// were when the provider compiled.
TEST_F(StandIns, OfProvidersThatWantChannelsLast) {
  const auto first = std::make_shared<Keeping>("one", "Relu"),
             second = std::make_shared<Keeping>("two", "GlobalAveragePool");
  second->channels_last = true;
  const auto kept = keep({first, second});
  std::string types;
  const Node* before = nullptr;
  for (const NodeId id : kept->order()) {
    const Node& n = kept->node(id);
    types += n.type + " ";
    if (kept->is_output(n.outputs[0])) before = kept->producer(n.inputs[0]);
  }
  EXPECT_EQ(types, "Abs Transpose EPContext Transpose EPContext ");
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(before->type, "Transpose");
  EXPECT_EQ(kept->value(kept->outputs[0]).name, "y");
}

TEST_F(StandIns, AreChecked) {
  const std::string who = "provider 'one' made node 'kept' (EPContext) of part 'one_0', with";
  EXPECT_EQ(error_of([](StandIn& s) { s.outputs = {"b", "b"}; }), who + " 'b' as an output twice; list it once");
  EXPECT_EQ(error_of([](StandIn& s) {
              s.outputs = {"b", "z"};
            }),
            who + " 'z' as an output, which no node of the part makes");
  EXPECT_EQ(error_of([](StandIn& s) { s.inputs = {"b"}; }), who + " 'b' as an input, which a node of the part makes");
  EXPECT_EQ(error_of([](StandIn& s) { s.inputs = {"z"}; }), who + " 'z', which is not a value of the model");
  EXPECT_EQ(error_of([](StandIn& s) { s.outputs = {""}; }), who + "out output 'b', which the rest of the model reads");
  EXPECT_EQ(error_of([](StandIn& s) { s.inputs = {"", "a", "x"}; }), "no error");
}

// A node that only its provider can run is not lowered when the model is saved.
TEST_F(StandIns, BesideNodesThatOnlyAProviderKnows) {
  const auto one = std::make_shared<Keeping>("one", "Relu"),
             two = std::make_shared<Keeping>("two", "GlobalAveragePool");
  two->single = two->channels_last = true;
  Model kept = model;
  kept.graph = keep({one, two});
  kept.graph = portable_copy(kept, {.level = 1}).graph;
  const auto own = [&](NodeId id) { return kept.graph->node(id).domain == kChannelsLastDomain; };
  EXPECT_EQ(std::ranges::count_if(kept.graph->order(), own), 1);
}

// Parts in bodies are saved as nodes.
TEST_F(StandIns, OfBodiesAreTheirNodes) {
  Graph& g = *model.graph;
  const ValueId a = g.node(g.order()[0]).outputs[0];
  const auto body = [&](const char* out) {
    auto b = std::make_shared<Graph>(model.dims);
    b->inputs = {b->add_value("a", g.value(a).type)};
    b->captures = 1;
    b->outputs = b->node(b->add({.type = "Neg", .inputs = b->inputs, .version = 17})).outputs;
    b->value(b->outputs[0]).name = out;
    b->value(b->outputs[0]).type = g.value(a).type;
    return b;
  };
  Node choose;
  choose.type = "If";
  choose.version = 17;
  choose.inputs = {g.add_value("c", ValueType::tensor(DType::boolean, Shape{})), a};
  g.inputs.push_back(choose.inputs[0]);
  choose.captures = 1;
  choose.bodies = {{"then_branch", body("t")}, {"else_branch", body("e")}};
  choose.outputs = {g.add_value("i", g.value(a).type)};
  g.outputs.push_back(choose.outputs[0]);
  g.add_node(std::move(choose));
  const auto bodies = std::make_shared<Keeping>("one", "Neg"), whole = std::make_shared<Keeping>("two", "If");
  const auto main = std::make_shared<Keeping>("three", "Relu");
  whole->single = true;
  const auto kept = keep({bodies, whole, main});
  for (const NodeId id : kept->order()) {
    const Node& n = kept->node(id);
    if (!n.is("If")) continue;
    EXPECT_EQ(n.captures, 1u);
    EXPECT_EQ(nodes(*n.bodies[0].graph), "t = Neg a; ");
    EXPECT_EQ(nodes(*n.bodies[1].graph), "e = Neg a; ");
  }
  EXPECT_NE(nodes(*kept).find("i = If c; "), std::string::npos);
}

}  // namespace
}  // namespace retort
