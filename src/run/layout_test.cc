// Tests the segments of a plan under different shapes: what is kept from run to run, what is laid out again, and which
// steps remain to be run.
#include "run/layout.h"

#include "run/run_testing.h"

namespace retort {
namespace {

struct LaidOut : testing::Test {
  void make(MemoryBudget* budget = nullptr) {
    plan = graph.plan();
    table.emplace(*plan);
    joins.emplace(*table);
    bodies.emplace(BodyHost{*table, device_run, budget});
    layout.emplace(Layout::Parts{*table, *joins, *bodies, device_run, threads, budget});
  }
  void begin(const std::vector<Value>& inputs) {
    std::vector<const Value*> given;
    for (const Value& v : inputs) given.push_back(&v);
    layout->begin(given);
  }
  static Value floats(Shape shape) { return Tensor(DType::f32, std::move(shape)); }
  Slot& slot(std::string_view name) { return (*table)[slot_of(*plan, name)]; }

  PlanGraph graph;
  MemoryBudget limited;  // outlives the memory that is taken from it
  std::shared_ptr<const Plan> plan;
  std::optional<SlotTable> table;
  std::optional<Joins> joins;
  DeviceRun device_run;
  std::optional<Bodies> bodies;
  RunThreads threads;
  std::optional<Layout> layout;
};

/// y = MatMul(MatMul(x, x), x)
struct Products : LaidOut {
  Products() {
    const ValueId x = graph.input("x", {graph.symbol("n"), graph.symbol("n")});
    const ValueId a = graph.add("a", "MatMul", {x, x}), b = graph.add("b", "MatMul", {a, x});
    graph.output(graph.add("y", "MatMul", {b, x}));
  }
};

TEST_F(Products, HoldsForInputsOfTheSameTypes) {
  make();
  begin({floats({8, 8})});
  const void *a = slot("a").data, *b = slot("b").data;
  ASSERT_NE(a, nullptr);
  ASSERT_NE(a, b);
  EXPECT_EQ(slot("y").data, nullptr);  // the caller provides this memory
  EXPECT_TRUE(layout->is_last(layout->segment(0)));
  EXPECT_EQ(layout->segment(0).active.size(), 3u);
  const Active* active = layout->segment(0).active.data();
  begin({floats({8, 8})});
  EXPECT_EQ(slot("a").data, a);
  EXPECT_EQ(layout->segment(0).active.data(), active);
  begin({floats({4, 4})});
  EXPECT_EQ(slot("a").type.shape, Shape({4, 4}));
}

TEST_F(Products, GivesMemoryBack) {
  make();
  begin({floats({8, 8})});
  EXPECT_GE(layout->bytes(), 2 * 256u);
  layout->give_back();
  EXPECT_EQ(layout->bytes(), 0u);
  begin({floats({8, 8})});  // is laid out again although the types are the same
  EXPECT_GE(layout->bytes(), 2 * 256u);
}

TEST_F(Products, TrimsMemoryThatIsTooLarge) {
  make();
  begin({floats({1024, 1024})});
  const size_t most = layout->bytes();
  layout->trim();
  EXPECT_EQ(layout->bytes(), most);
  begin({floats({8, 8})});
  layout->trim();
  layout->trim();
  EXPECT_LT(layout->bytes(), most / 2);
  begin({floats({8, 8})});
  EXPECT_NE(slot("a").data, nullptr);
}

TEST_F(Products, StaysWithinTheBudget) {
  limited.set_limit(1 << 20, [] {});
  make(&limited);
  begin({floats({8, 8})});
  try {
    begin({floats({1024, 1024})});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("a workspace for 2 outputs, the largest that of node 'a' (MatMul)"), std::string::npos)
        << e.message();
  }
  begin({floats({8, 8})});
  EXPECT_NE(slot("a").data, nullptr);
}

TEST_F(LaidOut, StepsWhoseContentIsKnownDoNotRun) {
  const ValueId x = graph.input("x", {graph.symbol("n"), 3});
  const ValueId shape = graph.add("shape", "Shape", {x});
  graph.output(graph.add("y", "Expand", {graph.floats("one", {1, 1}), shape}));
  make();
  begin({floats({2, 3})});
  ASSERT_EQ(layout->segment(0).active.size(), 1u);
  EXPECT_EQ(layout->segment(0).active[0].step, step_of(*plan, "y"));
}

TEST_F(LaidOut, StepsThatAreInPlaceAreNotLeftToRun) {
  const ValueId x = graph.input("x", {2, 3});
  const ValueId a = graph.add("a", "Sin", {x}), b = graph.add("b", "Cos", {x});
  const ValueId whole = graph.add("whole", "Concat", {a, b}, {{"axis", int64_t(0)}});
  graph.output(graph.add("y", "MatMul", {whole, graph.floats("w", {3, 3})}));
  make();
  begin({floats({2, 3})});
  EXPECT_EQ(layout->segment(0).active.size(), 3u);
  EXPECT_EQ(static_cast<std::byte*>(slot("b").data) - static_cast<std::byte*>(slot("whole").data), 24);
}

/// The shape of `wide` is computed by `twice`.
struct Segments : LaidOut {
  Segments() {
    const ValueId x = graph.input("x", {3}), n = graph.input("n", {1}, DType::i64);
    const ValueId twice = graph.add("twice", "Add", {n, n});
    const ValueId wide = graph.add("wide", "Expand", {x, twice});
    graph.output(graph.add("y", "Neg", {wide}));
    make();
  }
  /// Lays out both segments; `content` is the value that the first one computes.
  Segment& lay_out(int64_t content) {
    begin({floats({3}), Tensor(DType::i64, {1})});
    EXPECT_FALSE(layout->is_last(layout->segment(0)));
    *static_cast<int64_t*>(slot("twice").data) = content;
    return layout->segment(1);
  }
};

TEST_F(Segments, AreLaidOutWhenThoseBeforeHaveRun) {
  const Segment& second = lay_out(3);
  EXPECT_EQ(second.begin, step_of(*plan, "wide"));
  EXPECT_TRUE(layout->is_last(second));
  EXPECT_EQ(slot("y").type.shape, Shape({3}));
  lay_out(1);
  EXPECT_EQ(slot("y").type.shape, Shape({3}));
}

TEST_F(Segments, TheSecondIsLaidOutInEveryRun) {
  lay_out(3);
  EXPECT_NE(slot("wide").data, nullptr);
  begin({floats({3}), Tensor(DType::i64, {1})});
  EXPECT_EQ(slot("wide").data, nullptr);
  EXPECT_FALSE(is_laid_out(slot("y").type));
}

TEST_F(Segments, WithoutContentThereIsAnError) {
  begin({floats({3}), Tensor(DType::i64, {1})});
  slot("twice").data = nullptr;
  try {
    layout->segment(1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "node 'wide' (Expand): the shape of its output cannot be derived from its inputs");
  }
}

TEST_F(LaidOut, ScratchIsSharedByStepsAndGrows) {
  const ValueId x = graph.input("x", {graph.symbol("n"), 64});
  const ValueId k = graph.ints("k", {2});
  const auto a = graph.add_multi("a", "TopK", {x, k}, {}, 2);
  const auto b = graph.add_multi("b", "TopK", {a[0], k}, {}, 2);
  graph.output(b[0]);
  graph.output(b[1]);
  make();
  begin({floats({4, 64})});
  const Segment& segment = layout->segment(0);
  ASSERT_EQ(segment.active.size(), 2u);
  const size_t need = segment.scratch.bytes;
  ASSERT_GT(need, 0u);
  EXPECT_EQ(segment.active[0].context.scratch(), segment.active[1].context.scratch());
  EXPECT_NE(segment.active[0].context.scratch(), nullptr);
  EXPECT_EQ(layout->bytes(), segment.block.bytes() + need);
}

/// x → Sin → Cos ┐
///   → Exp → Neg ┴ Add → y
struct TwoTowers : LaidOut {
  TwoTowers() {
    const ValueId x = graph.input("x", {700, 700});
    const ValueId b = graph.add("b", "Cos", {graph.add("a", "Sin", {x})});
    const ValueId d = graph.add("d", "Neg", {graph.add("c", "Exp", {x})});
    graph.output(graph.add("y", "Add", {b, d}));
  }
};

TEST_F(TwoTowers, WithoutThreadsForBranchesThereAreNone) {
  make();
  begin({floats({700, 700})});
  EXPECT_TRUE(layout->segment(0).branches.empty());
}

}  // namespace
}  // namespace retort
