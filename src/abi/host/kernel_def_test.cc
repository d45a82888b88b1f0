// Tests which kernel of a registry is found for a node.
#include "abi/host/kernel_def.h"

#include <gtest/gtest.h>

#include "abi/host/part.h"

namespace retort::abi {
namespace {

/// Tests whether a kernel of Relu, Cast or Where whose constraint `name` allows `allowed` is found for a node.
class Kernels : public ::testing::Test {
 protected:
  Kernels() {
    model_.ir_version = 8;
    model_.opsets[""] = 17;
    Graph& g = *model_.graph;
    const auto input = [&](const char* name, DType type) {
      return g.inputs.emplace_back(g.add_value(name, ValueType::tensor(type, Shape{2})));
    };
    const ValueId x = input("x", DType::f64), c = input("c", DType::boolean);
    const auto node = [&](const char* type, std::vector<ValueId> inputs) {
      const NodeId id = g.add({.type = type, .inputs = std::move(inputs), .name = type, .version = 17});
      g.value(g.node(id).outputs[0]).type = ValueType::tensor(DType::f64, Shape{2});
      g.outputs.push_back(g.node(id).outputs[0]);
    };
    node("Relu", {x});
    node("Where", {c, x, x});
    view_ = view_graph(borrowed(model_));
  }

  bool found(const std::string& type, int since, const std::string& constraint, DType allowed) {
    OrtKernelRegistry registry;
    auto def = std::make_unique<OrtKernelDef>();
    def->type = type;
    def->provider = "p";
    def->first = since;
    def->types[constraint] = {allowed};
    registry.kernels.push_back({std::move(def), nullptr, nullptr});
    for (const auto& node : view_->nodes) {
      if (node->type == type) return registry.find(*node, "p");
    }
    ADD_FAILURE() << "no node " << type;
    return false;
  }

  Model model_;
  std::unique_ptr<OrtGraph> view_;
};

TEST_F(Kernels, ConstraintsNameTypeParameters) {
  EXPECT_TRUE(found("Relu", 14, "T", DType::f64));
  EXPECT_FALSE(found("Relu", 14, "T", DType::f32));
  EXPECT_FALSE(found("Relu", 13, "T", DType::f64)) << "another version";
  EXPECT_TRUE(found("Where", 16, "B", DType::boolean));
}

TEST_F(Kernels, ConstraintsNameInputsAndOutputs) {
  EXPECT_TRUE(found("Relu", 14, "X", DType::f64));
  EXPECT_FALSE(found("Relu", 14, "X", DType::f32));
  EXPECT_TRUE(found("Relu", 14, "Y", DType::f64));
  EXPECT_FALSE(found("Relu", 14, "Y", DType::f32));
  EXPECT_TRUE(found("Where", 16, "condition", DType::boolean));
  EXPECT_FALSE(found("Where", 16, "condition", DType::f64));
  EXPECT_FALSE(found("Where", 16, "output", DType::f32));
  EXPECT_TRUE(found("Where", 16, "of_nobody", DType::f32))
      << "a name that the operator does not have restricts nothing";
}

}  // namespace
}  // namespace retort::abi
