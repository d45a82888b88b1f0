#include "ir/graph.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/patch.h"

namespace retort {
namespace {

struct Chain : testing::Test {
  Chain() {
    x = g.add_value("x", ValueType::tensor(DType::f32, {g.dims().symbol("n")}));
    g.inputs = {x};
    relu = g.add({.type = "Relu", .inputs = {x}, .name = "relu"});
    neg = g.add({.type = "Neg", .inputs = {out(relu)}, .name = "neg"});
    g.outputs = {out(neg)};
    g.value(out(neg)).name = "y";
  }
  ValueId out(NodeId n) { return g.node(n).outputs[0]; }
  Graph g{std::make_shared<DimTable>()};
  ValueId x;
  NodeId relu, neg;
};

TEST_F(Chain, OrderFollowsProducers) {
  EXPECT_EQ(g.order().size(), 2u);
  EXPECT_EQ(g.order()[0], relu);
  verify(g);
}

TEST_F(Chain, CycleIsAnError) {
  g.set_input(relu, 0, out(neg));
  EXPECT_THROW(g.order(), Error);
}

TEST_F(Chain, PatchReplacesAndKeepsTheOutputsName) {
  Patch p(g);
  const ValueId fused = p.add({.type = "NegRelu", .inputs = {x}});
  p.replace(out(neg), fused);
  p.covers({relu, neg});
  const auto added = std::move(p).apply(g);
  g.remove(neg);
  g.remove(relu);
  verify(g);
  EXPECT_EQ(g.value(g.outputs[0]).name, "y");
  EXPECT_EQ(g.node(added[0]).origins, (std::vector<std::string>{"relu", "neg"}));
  EXPECT_EQ(g.order().size(), 1u);
}

TEST_F(Chain, ReplacingAnOutputByAnInputInsertsIdentity) {
  g.replace_uses(out(neg), x);
  verify(g);
  EXPECT_EQ(g.producer(g.outputs[0])->type, "Identity");
  EXPECT_EQ(g.value(g.outputs[0]).name, "y");
}

TEST_F(Chain, CloneIsIndependent) {
  auto copy = g.clone();
  copy->replace_uses(out(relu), x);
  EXPECT_EQ(g.node(neg).inputs[0], out(relu));
  verify(*copy);
  verify(g);
}

TEST_F(Chain, SecondProducerIsAnError) {
  Node n;
  n.type = "Abs";
  n.outputs = {out(neg)};
  EXPECT_THROW(g.add_node(n), Error);
}

}  // namespace
}  // namespace retort
