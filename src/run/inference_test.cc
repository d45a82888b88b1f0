// Tests types that follow from those of the inputs, and content that follows from shapes.
#include "run/inference.h"

#include "run/run_testing.h"

namespace retort {
namespace {

struct Inferred : testing::Test {
  void make() {
    plan = graph.plan();
    table.emplace(*plan);
    inference.emplace(*table);
  }
  bool take(const std::vector<Value>& inputs) {
    std::vector<const Value*> given;
    for (const Value& v : inputs) given.push_back(v.empty() ? nullptr : &v);
    return inference->take_types(given);
  }
  const Slot& slot(std::string_view name) const { return (*table)[slot_of(*plan, name)]; }
  uint32_t step(std::string_view name) const { return step_of(*plan, name); }
  uint32_t steps() const { return uint32_t(plan->steps.size()); }
  static Tensor floats(Shape shape) { return Tensor(DType::f32, std::move(shape)); }

  PlanGraph graph;
  std::shared_ptr<const Plan> plan;
  std::optional<SlotTable> table;
  std::optional<Inference> inference;
};

TEST_F(Inferred, SameTypesAreRecognised) {
  const ValueId x = graph.input("x", {graph.symbol("n"), 3});
  graph.output(graph.add("y", "Neg", {x}));
  make();
  EXPECT_FALSE(take({floats({2, 3})}));
  EXPECT_TRUE(take({floats({2, 3})}));
  EXPECT_FALSE(take({floats({4, 3})}));
  EXPECT_EQ(slot("x").count, 12u);
  EXPECT_FALSE(take({Value()}));
  EXPECT_FALSE(take({floats({4, 3})}));
}

TEST_F(Inferred, EveryShapeFollows) {
  const ValueId x = graph.input("x", {graph.symbol("n"), 3});
  const ValueId a = graph.add("a", "MatMul", {x, graph.floats("w", {3, 5})});
  graph.output(graph.add("y", "Transpose", {a}));
  make();
  take({floats({2, 3})});
  EXPECT_EQ(inference->infer_from(0), steps());
  EXPECT_EQ(slot("a").type.shape, Shape({2, 5}));
  EXPECT_EQ(slot("y").type.shape, Shape({5, 2}));
  EXPECT_EQ(slot("y").count, 10u);
  EXPECT_EQ(slot("y").data, nullptr);
  inference->forget_from(step("y"));
  EXPECT_TRUE(is_laid_out(slot("a").type));
  EXPECT_FALSE(is_laid_out(slot("y").type));
}

TEST_F(Inferred, ContentOfShapesIsInPlace) {
  const ValueId x = graph.input("x", {graph.symbol("n"), 3});
  const ValueId shape = graph.add("shape", "Shape", {x});
  graph.output(graph.add("y", "Expand", {graph.floats("one", {1, 1}), shape}));
  make();
  take({floats({7, 3})});
  EXPECT_EQ(inference->infer_from(0), steps());
  EXPECT_TRUE(inference->is_settled(step("shape")));
  EXPECT_FALSE(inference->is_settled(step("y")));
  ASSERT_NE(slot("shape").data, nullptr);
  EXPECT_EQ(static_cast<const int64_t*>(slot("shape").data)[0], 7);
  EXPECT_EQ(slot("y").type.shape, Shape({7, 3}));
}

TEST_F(Inferred, SettledContentHasTheTypeOfItsValue) {
  const ValueId x = graph.input("x", {graph.symbol("n"), 3});
  const ValueId small = graph.add("small", "Cast", {graph.add("shape", "Shape", {x})}, {{"to", int64_t(DType::i32)}});
  graph.output(graph.add("y", "Neg", {small}));
  make();
  take({floats({7, 3})});
  inference->infer_from(0);
  ASSERT_TRUE(inference->is_settled(step("small")));
  EXPECT_EQ(static_cast<const int32_t*>(slot("small").data)[1], 3);
}

TEST_F(Inferred, StopsWhereContentIsNeeded) {
  const ValueId x = graph.input("x", {3}), n = graph.input("n", {1}, DType::i64);
  const ValueId twice = graph.add("twice", "Add", {n, n});
  const ValueId wide = graph.add("wide", "Expand", {x, twice});
  graph.output(graph.add("y", "Neg", {wide}));
  make();
  take({floats({3}), Tensor(DType::i64, {1})});
  EXPECT_EQ(inference->infer_from(0), step("wide"));
  EXPECT_FALSE(is_laid_out(slot("wide").type));
  int64_t content = 3;
  (*table)[slot_of(*plan, "twice")].data = &content;  // as if the step had run
  EXPECT_EQ(inference->infer_from(step("wide")), steps());
  EXPECT_EQ(slot("y").type.shape, Shape({3}));
}

TEST_F(Inferred, ContentThatWasReadHoldsForOneRun) {
  const ValueId x = graph.input("x", {3}), n = graph.input("n", {1}, DType::i64);
  graph.output(graph.add("y", "Expand", {x, graph.add("same", "Identity", {n})}));
  make();
  Slot& read = (*table)[slot_of(*plan, "n")];
  read.has_known = true;
  inference->forget_content();
  EXPECT_FALSE(read.has_known);
}

TEST_F(Inferred, StringsHaveMemoryOfTheirOwn) {
  const ValueId x = graph.input("x", {2}, DType::string);
  graph.output(graph.add("y", "Concat", {x, x}, {{"axis", int64_t(0)}}));
  make();
  take({Tensor(DType::string, {2})});
  inference->infer_from(0);
  EXPECT_NE(slot("y").data, nullptr);
  EXPECT_EQ(slot("y").boxed.tensor()->count(), 4u);
}

TEST_F(Inferred, ErrorsNameTheStepAndItsInputs) {
  const ValueId x = graph.input("x", {graph.symbol("n")}), z = graph.input("z", {graph.symbol("m")});
  graph.output(graph.add("y", "Add", {x, z}));
  make();
  take({floats({2}), floats({3})});
  try {
    inference->infer_from(0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("node 'y' (Add)"), std::string::npos) << e.message();
    EXPECT_NE(e.message().find("check its inputs 'x' float32[2], 'z' float32[3]"), std::string::npos) << e.message();
  }
}

TEST_F(Inferred, NoMoreElementsThanMemoryHolds) {
  const ValueId x = graph.input("x", {graph.symbol("n"), 1}), z = graph.input("z", {1, graph.symbol("m")});
  graph.output(graph.add("y", "Add", {x, z}));
  make();
  std::byte nothing[8];
  const auto huge = [&](Shape shape) { return Tensor(DType::f32, std::move(shape), nothing, nullptr); };
  take({huge({int64_t(1) << 31, 1}), huge({1, int64_t(1) << 31})});
  EXPECT_THROW(inference->infer_from(0), Error);
}

}  // namespace
}  // namespace retort
