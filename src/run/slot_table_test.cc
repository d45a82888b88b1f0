// Tests which step writes a value, which values share memory, and what a step reads.
#include "run/slot_table.h"

#include "run/run_testing.h"

namespace retort {
namespace {

struct Table : testing::Test {
  Table() {
    const ValueId x = graph.input("x", {2, 3}), w = graph.floats("w", {2, 3}, 4);
    const ValueId sum = graph.add("sum", "Add", {x, w});
    const ValueId flat = graph.add("flat", "Reshape", {sum, graph.ints("to", {6})});
    graph.output(graph.add("twice", "Add", {flat, flat}));
    graph.output(graph.add("y", "Neg", {sum}));
    plan = graph.plan();
  }
  PlanGraph graph;
  std::shared_ptr<const Plan> plan;
};

TEST_F(Table, HasConstantsFromTheStart) {
  const SlotTable table(*plan);
  const Slot& w = table[slot_of(*plan, "w")];
  EXPECT_EQ(w.data, plan->values[slot_of(*plan, "w")].constant.data());
  EXPECT_EQ(w.count, 6u);
  EXPECT_EQ(w.type.shape, Shape({2, 3}));
  EXPECT_EQ(table[slot_of(*plan, "x")].data, nullptr);
  EXPECT_TRUE(table[slot_of(*plan, "x")].present);
}

TEST_F(Table, ProducersAndSharers) {
  const SlotTable table(*plan);
  const SlotIndex sum = slot_of(*plan, "sum"), flat = slot_of(*plan, "flat");
  EXPECT_EQ(table.producer_of(sum), step_of(*plan, "sum"));
  EXPECT_EQ(table.producer_of(slot_of(*plan, "x")), kNever);
  EXPECT_EQ(table.producer_of(slot_of(*plan, "w")), kNever);
  EXPECT_EQ(table.root_of(flat), sum);
  EXPECT_EQ(table.sharers_of(sum).size(), 2u);
  EXPECT_EQ(table.sharers_of(flat).size(), 0u);
}

TEST_F(Table, StepsSeeTheSlotsOfTheirValues) {
  SlotTable table(*plan);
  const uint32_t step = step_of(*plan, "twice");
  ASSERT_EQ(table.inputs_of(step).size(), 2u);
  EXPECT_EQ(table.inputs_of(step)[0], &table[slot_of(*plan, "flat")]);
  EXPECT_EQ(table.inputs_of(step)[1], &table[slot_of(*plan, "flat")]);
  ASSERT_EQ(table.outputs_of(step).size(), 1u);
  EXPECT_EQ(table.outputs_of(step)[0], &table[slot_of(*plan, "twice")]);
  EXPECT_EQ(table.reads_of(plan->steps[step], slot_of(*plan, "sum")), 2u);
  EXPECT_EQ(table.reads_of(plan->steps[step], slot_of(*plan, "x")), 0u);
}

TEST_F(Table, ErrorsNameTheInputsOfAStep) {
  SlotTable table(*plan);
  const uint32_t step = step_of(*plan, "sum");
  EXPECT_EQ(table.what_to_check(step), "check its inputs 'x', 'w' float32[2,3]");
  give_shape(table, "x", {2, 3});
  try {
    table.with_inputs(step, [] { fail(ErrorCode::fail, "no luck"); });
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "no luck; check its inputs 'x' float32[2,3], 'w' float32[2,3]");
  }
}

}  // namespace
}  // namespace retort
