// Tests which branch a step is in, and what follows for memory and scratch.
#include "run/branches.h"

#include "run/run_testing.h"

namespace retort {
namespace {

/// x → Sin → Cos ┐
/// → Exp → Neg ┴ Add → y; large enough for a fork to pay.
struct Towers : testing::Test {
  Towers() {
    const ValueId x = graph.input("x", {700, 700});
    const ValueId a = graph.add("a", "Sin", {x}), b = graph.add("b", "Cos", {a});
    const ValueId c = graph.add("c", "Exp", {x}), d = graph.add("d", "Neg", {c});
    graph.output(graph.add("y", "Add", {b, d}));
    plan = graph.plan();
    table.emplace(*plan);
    give_shapes(*table);
    runs.assign(plan->steps.size(), true);
  }
  void find(int between = 2, std::span<const Stretch> stretches = {}) {
    branches.find(*table, {.begin = 0,
                           .end = uint32_t(plan->steps.size()),
                           .runs = runs,
                           .stretches = stretches,
                           .inside = 1,
                           .between = between});
  }
  const Branches::Seat& seat(std::string_view name) const { return branches.seat(step_of(*plan, name)); }

  PlanGraph graph;
  std::shared_ptr<const Plan> plan;
  std::optional<SlotTable> table;
  std::vector<char> runs;
  Branches branches;
};

TEST_F(Towers, EachIsABranch) {
  find();
  ASSERT_EQ(branches.forks().size(), 1u);
  EXPECT_EQ(seat("a").branch, seat("b").branch);
  EXPECT_EQ(seat("c").branch, seat("d").branch);
  EXPECT_NE(seat("a").branch, seat("c").branch);
  EXPECT_NE(seat("a").branch, 0u);
  EXPECT_EQ(seat("a").fork, 0u);
  EXPECT_EQ(seat("y").branch, 0u);
  EXPECT_EQ(seat("y").fork, kNever);
  EXPECT_EQ(branches.seat(99).branch, 0u);
  EXPECT_EQ(branches.seat(kNever).fork, kNever);
}

TEST_F(Towers, OneThreadHasNone) {
  find(1);
  EXPECT_TRUE(branches.empty());
  EXPECT_EQ(seat("a").branch, 0u);
}

TEST_F(Towers, StepsOfStretchesAreInNone) {
  const Stretch all{.begin = 0, .end = uint32_t(plan->steps.size()), .batch = 700, .images = 2, .values = {}};
  find(2, {&all, 1});
  EXPECT_TRUE(branches.empty());
}

TEST_F(Towers, StepsThatDoNothingAreInNone) {
  runs[step_of(*plan, "c")] = runs[step_of(*plan, "d")] = false;
  find();
  EXPECT_TRUE(branches.empty());
}

TEST_F(Towers, ClearedOnesRunOneAfterTheOther) {
  find();
  branches.clear();
  EXPECT_TRUE(branches.empty());
  EXPECT_EQ(seat("a").branch, 0u);
  find();
  EXPECT_TRUE(branches.empty());  // these steps did not fit the memory side by side
}

TEST_F(Towers, MemoryOfAForkIsKeptToItsEnd) {
  find();
  const uint32_t a = step_of(*plan, "a"), b = step_of(*plan, "b"), y = step_of(*plan, "y");
  std::vector<ArenaRequest> requests{{64, a, b}, {64, b, y}};
  branches.keep(requests);
  const Fork& fork = branches.forks()[0];
  EXPECT_EQ(requests[0].first, fork.begin);
  EXPECT_EQ(requests[0].last, fork.end - 1);
  EXPECT_EQ(requests[0].own_first, a);
  EXPECT_EQ(requests[0].own_last, b);
  EXPECT_EQ(requests[0].branch, seat("a").branch);
  EXPECT_EQ(requests[1].last, y);
}

TEST_F(Towers, KnowsValuesThatAnotherBranchReads) {
  find();
  const SlotIndex x = slot_of(*plan, "x"), a = slot_of(*plan, "a");
  EXPECT_TRUE(branches.is_read_beside(*table, step_of(*plan, "a"), x));
  EXPECT_TRUE(branches.is_read_beside(*table, step_of(*plan, "d"), x));
  EXPECT_FALSE(branches.is_read_beside(*table, step_of(*plan, "b"), a));
  EXPECT_FALSE(branches.is_read_beside(*table, step_of(*plan, "y"), a));
}

TEST_F(Towers, EachBranchHasSeparateScratch) {
  find();
  const uint32_t b = step_of(*plan, "b"), c = step_of(*plan, "c");
  const size_t bytes = branches.seat_scratch([&](uint32_t step) { return step == b ? 100 : step == c ? 70 : 10; });
  EXPECT_EQ(bytes, 256u);
  EXPECT_EQ(seat("a").scratch, seat("b").scratch);
  EXPECT_EQ(seat("c").scratch, seat("d").scratch);
  EXPECT_EQ(std::max(seat("a").scratch, seat("c").scratch), 128u);
  EXPECT_EQ(std::min(seat("a").scratch, seat("c").scratch), 0u);
}

TEST_F(Towers, LaterSegmentsCountFromTheirBegin) {
  const uint32_t begin = step_of(*plan, "b");
  branches.find(
      *table,
      {.begin = begin, .end = uint32_t(plan->steps.size()), .runs = runs, .stretches = {}, .inside = 1, .between = 2});
  EXPECT_EQ(branches.seat(0).branch, 0u);
  for (const Fork& fork : branches.forks()) EXPECT_GE(fork.begin, begin);
}

}  // namespace
}  // namespace retort
