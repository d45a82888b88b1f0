// Tests which values lie inside others, and that they get their memory through their hosts.
#include "run/joins.h"

#include "run/run_testing.h"

namespace retort {
namespace {

struct Joined : PlannedTest {
  void make() {
    PlannedTest::make();
    images.assign(plan->values.size(), 0);
  }
  void find(uint32_t begin = 0) {
    const std::vector<char> runs(plan->steps.size(), true);
    const auto context = [&](uint32_t i) {
      return RunContext(table->inputs_of(i), table->outputs_of(i), plan->steps[i].state.get(), nullptr, parallel);
    };
    joins->find({begin, uint32_t(plan->steps.size()), runs, images, context});
  }
  SlotIndex slot(std::string_view name) const { return slot_of(*plan, name); }
  size_t offset(std::string_view name) const {
    return size_t(static_cast<std::byte*>((*table)[slot(name)].data) - memory);
  }

  std::vector<uint32_t> images;
  Parallel parallel;
  alignas(64) std::byte memory[1024];
};

struct Concat : Joined {
  Concat() {
    const ValueId x = graph.input("x", {2, 3}), z = graph.input("z", {1, 3});
    const ValueId a = graph.add("a", "Neg", {x}), b = graph.add("b", "Neg", {z});
    const ValueId inner = graph.add("inner", "Concat", {a, b}, {{"axis", int64_t(0)}});
    const ValueId c = graph.add("c", "Abs", {z});
    const ValueId outer = graph.add("outer", "Concat", {c, inner}, {{"axis", int64_t(0)}});
    graph.output(graph.add("y", "Neg", {outer}));
    make();
  }
};

TEST_F(Concat, PartsAreGuestsOfTheWhole) {
  find();
  EXPECT_TRUE(joins->is_guest(slot("inner")));
  EXPECT_EQ(joins->owner(slot("a")), slot("outer"));
  EXPECT_FALSE(joins->is_guest(slot("outer")));
  EXPECT_TRUE(joins->has_guests(slot("outer")));
  EXPECT_TRUE(joins->is_in_place(step_of(*plan, "inner")));
  EXPECT_TRUE(joins->is_in_place(step_of(*plan, "outer")));
  EXPECT_FALSE(joins->is_in_place(step_of(*plan, "y")));
  EXPECT_EQ(joins->last_use(slot("outer")), step_of(*plan, "y"));
  EXPECT_EQ(joins->last_use_of_guests(slot("outer")), step_of(*plan, "outer"));
  EXPECT_EQ(joins->last_use_of_guests(slot("a")), 0u);
}

TEST_F(Concat, MemoryReachesTheGuestsOfGuests) {
  find();
  joins->put(slot("outer"), memory);
  const size_t row = 3 * sizeof(float);
  EXPECT_EQ(offset("c"), 0u);
  EXPECT_EQ(offset("inner"), row);
  EXPECT_EQ(offset("a"), row);
  EXPECT_EQ(offset("b"), 3 * row);
  joins->put(slot("outer"), nullptr);
  EXPECT_EQ((*table)[slot("b")].data, nullptr);
}

TEST_F(Concat, PartsThatFewImagesHaveMemoryForStayApart) {
  images[slot("a")] = 1;
  find();
  EXPECT_FALSE(joins->is_guest(slot("a")));
  EXPECT_TRUE(joins->is_guest(slot("b")));
  EXPECT_FALSE(joins->is_in_place(step_of(*plan, "inner")));
}

TEST_F(Concat, GuestsOfEarlierStepsStay) {
  find();
  find(step_of(*plan, "y"));
  EXPECT_EQ(joins->owner(slot("a")), slot("outer"));
  find();
  EXPECT_EQ(joins->owner(slot("a")), slot("outer"));
}

TEST_F(Joined, ViewsMoveWithTheirRoot) {
  const ValueId a = graph.add("a", "Neg", {graph.input("x", {6})});
  const ValueId row = graph.add("row", "Reshape", {a, graph.ints("to", {1, 6})});
  const ValueId whole = graph.add("whole", "Concat", {graph.floats("w", {1, 6}), row}, {{"axis", int64_t(0)}});
  graph.output(graph.add("y", "Neg", {whole}));
  make();
  find();
  joins->put(slot("whole"), memory);
  EXPECT_EQ(offset("a"), 6 * sizeof(float));
  EXPECT_EQ(offset("row"), 6 * sizeof(float));
  EXPECT_FALSE(joins->is_in_place(step_of(*plan, "whole")));  // the constant must be copied
}

TEST_F(Joined, PartsOfASplitLieInTheWhole) {
  const ValueId x = graph.add("x", "Neg", {graph.input("in", {4, 3})});
  const auto parts = graph.add_multi("part", "Split", {x, graph.ints("sizes", {1, 3})}, {{"axis", int64_t(0)}}, 2);
  graph.output(graph.add("y", "Neg", {parts[0]}));
  graph.output(graph.add("z", "Neg", {parts[1]}));
  make();
  find();
  joins->put(slot("x"), memory);
  EXPECT_EQ(joins->owner(slot("part1")), slot("x"));
  EXPECT_EQ(offset("part0"), 0u);
  EXPECT_EQ(offset("part1"), 3 * sizeof(float));
  EXPECT_TRUE(joins->is_in_place(step_of(*plan, "part")));
}

TEST_F(Joined, ResultsOfTheModelAreNoGuests) {
  const ValueId a = graph.add("a", "Neg", {graph.input("x", {2, 3})});
  graph.output(a);
  graph.output(graph.add("whole", "Concat", {a, a}, {{"axis", int64_t(0)}}));
  make();
  find();
  EXPECT_FALSE(joins->is_guest(slot("a")));
}

}  // namespace
}  // namespace retort
