// Which provider runs which nodes, with bodies.
#include "session/assigned.h"

#include "session/session_parts_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

/// outer = Neg x; if = If c (Abs of the captured outer, in both bodies); end = Exp if
class AssignedTest : public ::testing::Test {
 protected:
  AssignedTest() {
    Graph& g = t.g;
    const ValueId x = t.input("x", {2}), c = t.input("c", {}, DType::boolean);
    outer = node("Neg", {x}, "outer");
    std::vector<Body> bodies;
    for (const char* name : {"then_branch", "else_branch"}) {
      TestGraph inner(g.shared_dims());
      inner.output(inner.add("Abs", {inner.input("captured", {2})}), "abs");
      inner.g.node(inner.g.order()[0]).name = name;
      bodies.push_back({name, inner.g.clone()});
    }
    const ValueId result = t.add_with_bodies("If", {c, g.node(outer).outputs[0]}, 1, std::move(bodies), 1)[0];
    branch = g.value(result).producer;
    g.node(branch).name = "if";
    end = node("Exp", {result}, "end");
  }
  NodeId node(const char* type, std::vector<ValueId> inputs, const char* name) {
    const NodeId id = t.g.value(t.add(type, std::move(inputs))).producer;
    t.g.node(id).name = name;
    return id;
  }
  Assignment part(std::vector<NodeId> nodes, bool single = false) const {
    Assignment part;
    part.provider = "P";
    part.graph = &t.g;
    part.nodes = std::move(nodes);
    part.single = single;
    return part;
  }
  /// "P: outer, end"
  static std::vector<std::string> texts(const std::vector<AssignedPart>& parts) {
    std::vector<std::string> all;
    for (const AssignedPart& one : parts) {
      std::string names;
      for (const AssignedNode& n : one.nodes) names += (names.empty() ? "" : ", ") + n.name;
      all.push_back((one.provider == "P" ? "P: " : "") + names);
    }
    return all;
  }
  using Texts = std::vector<std::string>;

  TestGraph t;
  NodeId outer, branch, end;
};

TEST_F(AssignedTest, NodesOfBodiesComeBeforeThoseAround) {
  EXPECT_EQ(texts(parts_of_cpu(t.g)), (Texts{"then_branch", "else_branch", "outer", "if", "end"}));
}

TEST_F(AssignedTest, PartsOfProvidersComeFirst) {
  const Assignment parts[] = {part({outer, end})};
  EXPECT_EQ(texts(with_parts(parts_of_cpu(t.g), parts)), (Texts{"P: outer, end", "then_branch", "else_branch", "if"}));
}

TEST_F(AssignedTest, APartHasTheBodiesOfItsNodes) {
  const Assignment parts[] = {part({branch, end})};
  EXPECT_EQ(texts(with_parts(parts_of_cpu(t.g), parts)), (Texts{"P: then_branch, else_branch, if, end", "outer"}));
}

TEST_F(AssignedTest, ASingleNodeLeavesItsBodies) {
  const Assignment parts[] = {part({branch}, true)};
  EXPECT_EQ(texts(with_parts(parts_of_cpu(t.g), parts)),
            (Texts{"P: if", "then_branch", "else_branch", "outer", "end"}));
}

TEST_F(AssignedTest, PartsWithoutNodesOfTheModelAreLeftOut) {
  const Assignment parts[] = {part({})};
  EXPECT_EQ(with_parts(parts_of_cpu(t.g), parts).size(), 5u);
}

}  // namespace
}  // namespace retort
