// Tests where outputs may overlap inputs and other outputs.
#include "run/overlaps.h"

#include "run/run_testing.h"

namespace retort {
namespace {

struct Overlapping : PlannedTest {
  /// No value has memory except the inputs: they have 64 floats each, one after the other in `memory`.
  void make() {
    PlannedTest::make();
    for (size_t i = 0; i < plan->inputs.size(); ++i) (*table)[plan->inputs[i]].data = memory + i * 64;
  }
  /// `first` is the index of the first float that the output is written to.
  bool destroys(std::string_view out, size_t first) const {
    const SlotIndex slot = slot_of(*plan, out);
    return destroys_input(*table, *joins, branches, slot, memory + first, (*table)[slot].count * sizeof(float));
  }

  Branches branches;
  alignas(64) float memory[256] = {};
};

TEST_F(Overlapping, ElementwiseStepsMayWriteOverTheirInput) {
  const ValueId x = graph.input("x", {64});
  graph.output(graph.add("y", "Neg", {x}));
  make();
  EXPECT_FALSE(destroys("y", 0));
  EXPECT_TRUE(destroys("y", 1));  // overwrites elements that have not been read yet
  EXPECT_FALSE(destroys("y", 64));
}

TEST_F(Overlapping, NotWhileTheInputIsReadLater) {
  const ValueId x = graph.input("x", {64});
  const ValueId y = graph.add("y", "Neg", {x});
  graph.output(y);
  graph.output(graph.add("z", "Add", {x, y}));
  make();
  EXPECT_TRUE(destroys("y", 0));
  EXPECT_FALSE(destroys("z", 0));
}

TEST_F(Overlapping, NotByStepsThatReadAllOfTheirInput) {
  const ValueId x = graph.input("x", {8, 8});
  graph.output(graph.add("y", "MatMul", {x, x}));
  make();
  EXPECT_TRUE(destroys("y", 0));
}

TEST_F(Overlapping, APastStaysAtTheHeadOfItsPresent) {
  const ValueId past = graph.input("past", {16, 4});
  graph.output(graph.add("y", "Concat", {past, graph.floats("row", {1, 4})}, {{"axis", int64_t(0)}}));
  make();
  EXPECT_FALSE(destroys("y", 0));
  EXPECT_TRUE(destroys("y", 4));
}

TEST_F(Overlapping, NotWhereRowsMove) {
  const ValueId past = graph.input("past", {4, 16});
  graph.output(graph.add("y", "Concat", {past, graph.floats("column", {4, 1})}, {{"axis", int64_t(1)}}));
  make();
  EXPECT_TRUE(destroys("y", 0));
}

TEST_F(Overlapping, OutputsAreToBeApart) {
  const ValueId x = graph.input("x", {8});
  graph.output(graph.add("y", "Neg", {x}));
  graph.output(graph.add("z", "Abs", {x}));
  make();
  const auto given = [&](size_t first) { return Value(Tensor(DType::f32, {8}, memory + first, nullptr)); };
  Value low = given(0), same = given(0), reaching = given(7), behind = given(8), none;
  const auto check = [&](Value& a, Value* b) {
    Value* const outputs[] = {&a, b};
    check_outputs_apart(*plan, outputs);
  };
  EXPECT_THROW(check(low, &same), Error);
  EXPECT_THROW(check(low, &reaching), Error);
  EXPECT_NO_THROW(check(low, &behind));
  EXPECT_NO_THROW(check(low, &none));
  EXPECT_NO_THROW(check(low, nullptr));
}

TEST_F(Overlapping, LiesInAnInputOfTheSameMemory) {
  graph.output(graph.add("y", "Neg", {graph.input("x", {64})}));
  make();
  const SlotIndex x = slot_of(*plan, "x");
  EXPECT_TRUE(lies_in_input(*table, Tensor(DType::f32, {8}, memory + 60, nullptr), x));
  EXPECT_FALSE(lies_in_input(*table, Tensor(DType::f32, {8}, memory + 64, nullptr), x));
  EXPECT_FALSE(lies_in_input(*table, Tensor(DType::f32, {8}, memory, nullptr, {.device = DeviceType::gpu}), x));
  EXPECT_FALSE(lies_in_input(*table, Tensor(DType::f32, {8}, memory, nullptr), kNoSlot));
}

TEST_F(Overlapping, ResultsThatTheirStepSizesReplaceNothingOnTheHost) {
  graph.output(graph.add("y", "NonZero", {graph.input("x", {64})}));
  make();
  const SlotIndex x = slot_of(*plan, "x"), y = slot_of(*plan, "y");
  EXPECT_FALSE(may_replace(*table, x, y, Tensor(DType::f32, {64}, memory, nullptr)));
  const MemorySpace device{.device = DeviceType::gpu};
  EXPECT_FALSE(may_replace(*table, x, y, Tensor(DType::f32, {64}, memory, nullptr, device)));  // it reads x itself
}

}  // namespace
}  // namespace retort
