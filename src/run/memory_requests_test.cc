// Tests which values get memory, for how long, and which take over the memory of another.
#include "run/memory_requests.h"

#include "run/run_testing.h"

namespace retort {
namespace {

struct Requests : PlannedTest {
  void collect() {
    make();
    images.resize(plan->values.size());
    collect_from(0);
  }
  void collect_from(uint32_t begin) {
    MemoryRequests(*table, *joins).collect({begin, uint32_t(plan->steps.size()), stretches, branches, images}, list);
  }
  /// The request of a value; null if it has none.
  const ArenaRequest* of(std::string_view value) const {
    for (const auto& [root, request] : list.occupants) {
      if (root == slot_of(*plan, value)) return &list.requests[request];
    }
    return nullptr;
  }
  uint32_t step(std::string_view name) const { return step_of(*plan, name); }

  std::vector<Stretch> stretches;
  Branches branches;
  std::vector<uint32_t> images;
  MemoryRequests::List list;
};

TEST_F(Requests, LastFromTheWriterToTheLastReader) {
  const ValueId x = graph.input("x", {8, 8});
  const ValueId a = graph.add("a", "Softmax", {x}), b = graph.add("b", "MatMul", {a, x});
  graph.output(graph.add("c", "MatMul", {b, a}));
  collect();
  ASSERT_NE(of("a"), nullptr);
  EXPECT_EQ(of("a")->bytes, 256u);
  EXPECT_EQ(of("a")->first, step("a"));
  EXPECT_EQ(of("a")->last, step("c"));
  EXPECT_EQ(of("c"), nullptr);  // the caller provides this memory
  EXPECT_EQ(of("x"), nullptr);
}

TEST_F(Requests, OutputsReplaceInputsThatAreNotNeededAgain) {
  const ValueId x = graph.input("x", {8, 8});
  const ValueId a = graph.add("a", "Sin", {x}), b = graph.add("b", "Cos", {a});
  graph.output(graph.add("y", "MatMul", {b, x}));
  collect();
  ASSERT_EQ(list.requests.size(), 1u);
  EXPECT_EQ(of("a"), of("b"));
  EXPECT_EQ(of("a")->last, step("y"));
}

TEST_F(Requests, WithoutReuseEachValueHasItsOwnMemory) {
  const ValueId x = graph.input("x", {8, 8});
  const ValueId a = graph.add("a", "Sin", {x}), b = graph.add("b", "Cos", {a}), c = graph.add("c", "Sin", {b});
  graph.output(graph.add("y", "MatMul", {c, x}));
  make({.reuses_memory = false});
  images.resize(plan->values.size());
  collect_from(0);
  ASSERT_EQ(list.requests.size(), 3u);
  ArenaLayout layout;
  plan_arena(list.requests, layout);
  EXPECT_GE(layout.bytes, 3 * 256u);
}

TEST_F(Requests, NothingIsTakenOverThatIsReadLater) {
  const ValueId x = graph.input("x", {8, 8});
  const ValueId a = graph.add("a", "Sin", {x}), b = graph.add("b", "Cos", {a});
  graph.output(graph.add("y", "MatMul", {b, a}));
  collect();
  EXPECT_EQ(list.requests.size(), 2u);
}

TEST_F(Requests, NothingIsTakenOverThatOnlySomeImagesHaveMemoryFor) {
  const ValueId x = graph.input("x", {8, 8});
  const ValueId a = graph.add("a", "Sin", {x}), b = graph.add("b", "Cos", {a});
  graph.output(graph.add("y", "MatMul", {b, x}));
  collect();
  images[slot_of(*plan, "a")] = 2;
  collect_from(0);
  EXPECT_EQ(list.requests.size(), 2u);
  EXPECT_EQ(of("a")->bytes, 64u);
  EXPECT_EQ(of("b")->bytes, 256u);
}

TEST_F(Requests, ResultsOfAStretchAreKeptThroughout) {
  const ValueId x = graph.input("x", {8, 8});
  const ValueId a = graph.add("a", "MatMul", {x, x}), b = graph.add("b", "MatMul", {a, x});
  const ValueId c = graph.add("c", "MatMul", {b, x});
  graph.output(graph.add("y", "MatMul", {c, x}));
  collect();
  EXPECT_EQ(of("c")->first, step("c"));
  stretches.push_back({.begin = step("a"), .end = step("c") + 1, .batch = 8, .images = 2, .values = {}});
  stretches[0].values.push_back({.slot = slot_of(*plan, "c")});
  collect_from(0);
  EXPECT_EQ(of("c")->first, step("a"));
  EXPECT_EQ(of("b")->first, step("b"));
}

TEST_F(Requests, GuestsLieInTheirHost) {
  const ValueId x = graph.input("x", {2, 3});
  const ValueId a = graph.add("a", "Softmax", {x}), b = graph.add("b", "Sigmoid", {x});
  const ValueId whole = graph.add("whole", "Concat", {a, b}, {{"axis", int64_t(0)}});
  graph.output(graph.add("y", "Softmax", {whole}));
  collect();
  EXPECT_EQ(list.requests.size(), 3u);
  const std::vector<char> runs(plan->steps.size(), true);
  const Parallel parallel;
  const auto context = [&](uint32_t i) {
    return RunContext(table->inputs_of(i), table->outputs_of(i), plan->steps[i].state.get(), nullptr, parallel);
  };
  joins->find({0, uint32_t(plan->steps.size()), runs, images, context});
  collect_from(0);
  ASSERT_EQ(list.requests.size(), 1u);
  EXPECT_EQ(of("whole")->first, std::min(step("a"), step("b")));
  EXPECT_EQ(of("whole")->last, step("y"));
}

TEST_F(Requests, LaterSegmentsAskForTheirOwnValuesOnly) {
  const ValueId x = graph.input("x", {8, 8});
  const ValueId a = graph.add("a", "Softmax", {x}), b = graph.add("b", "Softmax", {a});
  graph.output(graph.add("y", "MatMul", {b, a}));
  collect();
  std::byte memory[256];
  joins->put(slot_of(*plan, "a"), memory);
  collect_from(step("b"));
  EXPECT_EQ(of("a"), nullptr);
  EXPECT_NE(of("b"), nullptr);
}

TEST_F(Requests, ErrorsNameWhoAsksForMost) {
  const ValueId x = graph.input("x", {2, 3});
  const ValueId a = graph.add("a", "Softmax", {x}), b = graph.add("b", "Concat", {x, a, x}, {{"axis", int64_t(0)}});
  graph.output(graph.add("y", "ReduceSum", {b}));
  collect();
  EXPECT_EQ(MemoryRequests(*table, *joins).largest(list), "node 'b' (Concat), whose output 'b' is float32[6,3]");
  EXPECT_EQ(MemoryRequests(*table, *joins).largest({}), "");
}

}  // namespace
}  // namespace retort
