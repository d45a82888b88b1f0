// Shared by tests of plans and of runs: plans of small graphs that are written by hand, in the core dialect.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan.h"

namespace retort {

/// Values and steps have the names that the test gives them.
struct PlanGraph {
  Graph g{std::make_shared<DimTable>()};

  Dim symbol(const std::string& name) { return g.dims().symbol(name); }
  ValueId input(const std::string& name, Shape shape, DType type = DType::f32) {
    g.inputs.push_back(g.add_value(name, ValueType::tensor(type, std::move(shape))));
    return g.inputs.back();
  }
  ValueId floats(const std::string& name, Shape shape, float content = 1) {
    Tensor t(DType::f32, std::move(shape));
    std::fill_n(t.mutable_data<float>(), t.count(), content);
    return g.add_constant(name, std::move(t));
  }
  ValueId ints(const std::string& name, const std::vector<int64_t>& content) {
    return g.add_constant(name, Tensor::of<int64_t>({int64_t(content.size())}, content));
  }
  /// The outputs are called `name`, or "name0", "name1" if there are several.
  std::vector<ValueId> add_multi(const std::string& name, const std::string& type, std::vector<ValueId> inputs,
                                 Attributes attributes, size_t outputs) {
    const NodeId id = g.add({.type = type,
                             .inputs = std::move(inputs),
                             .attributes = std::move(attributes),
                             .name = name,
                             .outputs = outputs});
    resolve(g.node(id));
    infer_node(g, g.node(id));
    const std::vector<ValueId> made = g.node(id).outputs;
    for (size_t i = 0; i < outputs; ++i) g.value(made[i]).name = outputs == 1 ? name : name + std::to_string(i);
    return made;
  }
  ValueId add(const std::string& name, const std::string& type, std::vector<ValueId> inputs,
              Attributes attributes = {}) {
    return add_multi(name, type, std::move(inputs), std::move(attributes), 1)[0];
  }
  /// An If over bodies that capture `captured` as their inputs; its output is called `output`.
  ValueId add_if(const std::string& name, ValueId condition, ValueId captured, const PlanGraph& yes,
                 const PlanGraph& no, const std::string& output) {
    Node n;
    n.type = "If";
    n.name = name;
    n.inputs = {condition, captured};
    n.captures = 1;
    n.bodies = {{"then_branch", yes.g.clone()}, {"else_branch", no.g.clone()}};
    n.outputs = {g.add_value(output)};
    const NodeId id = g.add_node(std::move(n));
    resolve(g.node(id));
    infer_node(g, g.node(id));
    return g.node(id).outputs[0];
  }
  void output(ValueId v) { g.outputs.push_back(v); }
  std::shared_ptr<const Plan> plan() { return build_plan(g, {}); }
};

inline SlotIndex slot_of(const Plan& plan, std::string_view value) {
  const auto found = std::ranges::find(plan.values, value, &PlanValue::name);
  EXPECT_NE(found, plan.values.end()) << value;
  return SlotIndex(found - plan.values.begin());
}

inline uint32_t step_of(const Plan& plan, std::string_view label) {
  const auto found = std::ranges::find(plan.steps, label, &Step::label);
  EXPECT_NE(found, plan.steps.end()) << label;
  return uint32_t(found - plan.steps.begin());
}

}  // namespace retort
