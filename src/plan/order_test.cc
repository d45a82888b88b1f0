#include "plan/order.h"

#include "plan/plan_testing.h"

namespace retort {
namespace {

std::vector<std::string> names(const Graph& graph, NodeOrder order) {
  std::vector<std::string> all;
  for (const NodeId id : ordered_nodes(graph, order)) all.push_back(graph.node(id).name);
  return all;
}
using Names = std::vector<std::string>;

// The order by priority is that of official ONNX Runtime for this graph.
TEST(NodeOrder, ShapesComeFirstByPriority) {
  PlanGraph p;
  const ValueId x = p.input("x", {2, 3});
  const ValueId a = p.add("sin", "Sin", {x}), b = p.add("cos", "Cos", {x}), s = p.add("shape", "Shape", {x});
  const ValueId z = p.add("size", "Size", {a}), e = p.add("exp", "Exp", {a}), c = p.add("add", "Add", {e, b});
  p.output(p.add("reshape", "Reshape", {c, s}));
  p.output(p.add("cast", "Cast", {z}, {{"to", int64_t(1)}}));
  EXPECT_EQ(names(p.g, NodeOrder::model), (Names{"sin", "cos", "shape", "size", "exp", "add", "reshape", "cast"}));
  EXPECT_EQ(names(p.g, NodeOrder::priority), (Names{"shape", "sin", "size", "cos", "exp", "add", "reshape", "cast"}));
}

// Two branches that begin with something large and end with something small: one is finished before the other begins.
TEST(NodeOrder, BranchesThatFreeMemoryAreFinishedFirst) {
  PlanGraph p;
  const ValueId x = p.input("x", {1, 4});
  const ValueId wide = p.floats("w", {1000, 4});
  const ValueId a = p.add("a", "Add", {x, wide}), b = p.add("b", "Mul", {x, wide});
  const ValueId most_a = p.add("max a", "ReduceMax", {a}), most_b = p.add("max b", "ReduceMax", {b});
  p.output(p.add("sum", "Add", {most_a, most_b}));
  EXPECT_EQ(names(p.g, NodeOrder::model), (Names{"a", "b", "max a", "max b", "sum"}));
  EXPECT_EQ(names(p.g, NodeOrder::memory), (Names{"a", "max a", "b", "max b", "sum"}));
}

TEST(NodeOrder, AnyGraphHasAllItsNodesAfterTheirInputs) {
  PlanGraph p;
  std::vector<ValueId> values{p.input("x", {4})};
  for (size_t i = 0; i < 300; ++i) {
    const ValueId one = values[i * 7 % values.size()], other = values[i * 13 % values.size()];
    values.push_back(p.add("n" + std::to_string(i), "Add", {one, other}));
  }
  p.output(values.back());
  for (const NodeOrder order : {NodeOrder::model, NodeOrder::priority, NodeOrder::memory}) {
    std::vector<char> made(p.g.value_count());
    made[size_t(values[0])] = true;
    const std::vector<NodeId> all = ordered_nodes(p.g, order);
    ASSERT_EQ(all.size(), 300u);
    for (const NodeId id : all) {
      for (const ValueId in : p.g.node(id).inputs) EXPECT_TRUE(made[size_t(in)]);
      made[size_t(p.g.node(id).outputs[0])] = true;
    }
  }
}

}  // namespace
}  // namespace retort
