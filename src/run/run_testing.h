// Shared by the tests of this room: plans of graphs that are written by hand, and slots with shapes.
#pragma once
#include "plan/plan_testing.h"
#include "run/joins.h"
#include "run/slot_table.h"

namespace retort {

/// Sets what inference leaves in a slot: its type and the number of its elements.
inline void give_shape(SlotTable& table, std::string_view value, const Shape& shape, DType type = DType::f32) {
  Slot& slot = table[slot_of(table.plan(), value)];
  slot.type = ValueType::tensor(type, shape);
  slot.count = element_count(shape);
}

/// Gives every value its shape if the graph states it in numbers.
inline void give_shapes(SlotTable& table) {
  for (const PlanValue& v : table.plan().values) {
    if (is_laid_out(v.type)) give_shape(table, v.name, v.type.shape, v.type.dtype);
  }
}

/// A graph, and what a run has of it before its inputs come.
struct PlannedTest : testing::Test {
  void make(const PlanOptions& options = {}) {
    plan = build_plan(graph.g, options);
    table.emplace(*plan);
    give_shapes(*table);
    joins.emplace(*table);
  }

  PlanGraph graph;
  std::shared_ptr<const Plan> plan;
  std::optional<SlotTable> table;
  std::optional<Joins> joins;
};

}  // namespace retort
