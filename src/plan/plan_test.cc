// Tests how a graph becomes a plan: where values lie and how long, what shares memory, which kernel runs, which weights
// are kept.
#include "plan/plan.h"

#include <atomic>
#include <cstdio>

#include "base/error.h"
#include "base/loading.h"
#include "memory/mapping.h"
#include "plan/model_nodes.h"
#include "plan/plan_testing.h"

namespace retort {
namespace {

struct Planned : testing::Test {
  void make() { plan = graph.plan(); }
  const PlanValue& value(std::string_view name) const { return plan->values[slot_of(*plan, name)]; }
  const Step& step(std::string_view name) const { return plan->steps[step_of(*plan, name)]; }
  uint32_t index(std::string_view name) const { return step_of(*plan, name); }
  uint32_t end() const { return uint32_t(plan->steps.size()); }

  PlanGraph graph;
  std::shared_ptr<const Plan> plan;
};

TEST_F(Planned, EveryValueHasAHome) {
  const ValueId x = graph.input("x", {4, 4}), words = graph.input("words", {2}, DType::string);
  const ValueId a = graph.add("a", "Add", {x, graph.floats("w", {4, 4})});
  graph.output(graph.add("y", "Neg", {a}));
  graph.output(graph.add("s", "Identity", {words}));
  graph.output(graph.add("where", "NonZero", {a}));
  make();
  EXPECT_EQ(value("x").home, Home::input);
  EXPECT_EQ(value("w").home, Home::constant);
  EXPECT_EQ(value("a").home, Home::arena);
  EXPECT_EQ(value("y").home, Home::output);
  EXPECT_EQ(value("s").home, Home::boxed);
  EXPECT_EQ(value("where").home, Home::boxed);
  EXPECT_TRUE(step("where").late);
  EXPECT_FALSE(step("y").late);
  EXPECT_EQ(plan->constant_bytes, 64u);
}

TEST_F(Planned, MemoryIsUsedUntilTheLastStepThatTouchesIt) {
  const ValueId x = graph.input("x", {4});
  const ValueId a = graph.add("a", "Neg", {x}), b = graph.add("b", "Sin", {a});
  const ValueId row = graph.add("row", "Reshape", {a, graph.ints("to", {1, 4})});
  graph.output(graph.add("y", "Add", {b, graph.add("late", "Cos", {row})}));
  make();
  EXPECT_EQ(value("row").root, slot_of(*plan, "a"));
  EXPECT_EQ(value("a").last_use, index("late"));
  EXPECT_EQ(value("b").last_use, index("y"));
  EXPECT_EQ(value("y").last_use, end());
}

TEST_F(Planned, ViewsRunNoStep) {
  const ValueId x = graph.input("x", {4});
  const ValueId row = graph.add("row", "Reshape", {x, graph.ints("to", {1, 4})});
  graph.output(graph.add("y", "Neg", {row}));
  make();
  EXPECT_TRUE(step("row").view);
  EXPECT_EQ(value("row").home, Home::input);
  EXPECT_EQ(value("y").root, slot_of(*plan, "y"));
}

TEST_F(Planned, OutputsShareOnlyMemoryOfThePlan) {
  const ValueId x = graph.input("x", {4}), to = graph.ints("to", {1, 4});
  const ValueId y = graph.add("y", "Neg", {x});
  graph.output(graph.add("of_input", "Reshape", {x, to}));
  graph.output(y);
  graph.output(graph.add("of_output", "Reshape", {y, to}));
  const ValueId a = graph.add("a", "Sin", {x});
  graph.output(graph.add("first", "Reshape", {a, to}));
  graph.output(graph.add("second", "Reshape", {a, to}));
  make();
  EXPECT_FALSE(step("of_input").view);
  EXPECT_FALSE(step("of_output").view);
  EXPECT_TRUE(step("first").view);
  EXPECT_FALSE(step("second").view);
  EXPECT_EQ(value("a").home, Home::output);
}

TEST_F(Planned, WeightsThatKernelsHavePackedAreDropped) {
  const ValueId x = graph.input("x", {64, 64}), w = graph.floats("w", {64, 64}), both = graph.floats("both", {64, 64});
  const ValueId a = graph.add("a", "MatMul", {x, w}), b = graph.add("b", "MatMul", {a, both});
  graph.output(graph.add("y", "Add", {b, both}));
  make();
  EXPECT_EQ(value("w").constant.data(), nullptr);
  EXPECT_EQ(value("w").constant.shape(), Shape({64, 64}));
  EXPECT_NE(value("both").constant.data(), nullptr);  // Add reads it
  EXPECT_NE(step("a").state, nullptr);
  EXPECT_EQ(plan->constant_bytes, 64u * 64 * 4);
}

/// A file with two rows of 64 KiB of floats from an odd address on.
Tensor unaligned_rows() {
  constexpr size_t kRow = size_t(16) << 10, kBytes = 2 * kRow * sizeof(float);
  std::FILE* file = std::tmpfile();
  if (!file) return {};
  const std::string bytes(kBytes + 1, '\0');
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0;
  const std::shared_ptr<void> mapping = written ? map_file(fileno(file), {.size = bytes.size()}) : nullptr;
  std::fclose(file);
  if (!mapping) return {};
  return {DType::f32, {2, int64_t(kRow)}, static_cast<char*>(mapping.get()) + 1, mapping};
}

TEST_F(Planned, ATableThatIsOnlyGatheredStaysInTheFile) {
  const Tensor rows = unaligned_rows();
  ASSERT_TRUE(rows);
  const ValueId index = graph.input("index", {3}, DType::i64), table = graph.g.add_constant("table", rows);
  graph.output(graph.add("y", "Gather", {table, index}));
  make();
  EXPECT_EQ(value("table").constant.data(), rows.data());
}

TEST_F(Planned, ATableThatOthersReadIsAligned) {
  const Tensor rows = unaligned_rows();
  ASSERT_TRUE(rows);
  const ValueId index = graph.input("index", {3}, DType::i64), table = graph.g.add_constant("table", rows);
  graph.output(graph.add("y", "Gather", {table, index}));
  graph.output(graph.add("z", "Relu", {table}));
  make();
  EXPECT_NE(value("table").constant.data(), rows.data());
  EXPECT_TRUE(is_aligned(DType::f32, value("table").constant.data()));
}

TEST_F(Planned, KernelsAreChosenByElementType) {
  const ValueId x = graph.input("x", {4}), n = graph.input("n", {4}, DType::i64);
  graph.output(graph.add("floats", "Neg", {x}));
  graph.output(graph.add("ints", "Neg", {n}));
  make();
  EXPECT_EQ(step("floats").dtype, DType::f32);
  EXPECT_EQ(step("ints").dtype, DType::i64);
  EXPECT_NE(step("floats").kernel.fn, step("ints").kernel.fn);
}

TEST_F(Planned, UnusedInputsAreReported) {
  const ValueId x = graph.input("x", {4});
  graph.input("idle", {4});
  graph.output(graph.add("y", "Neg", {x}));
  make();
  EXPECT_TRUE(plan->reads(0));
  EXPECT_FALSE(plan->reads(1));
}

TEST_F(Planned, CachesAreInputsThatAStepAppendsTo) {
  const ValueId x = graph.input("x", {1, 2, 1, 4});
  const ValueId k = graph.input("k", {1, 2, 3, 4}), v = graph.input("v", {1, 2, 3, 4});
  const auto out = graph.add_multi("out", "Attention", {x, x, x, ValueId::none, k, v}, {}, 3);
  for (const ValueId o : out) graph.output(o);
  graph.output(graph.add("values", "Neg", {v}));  // also reads the past values
  make();
  ASSERT_EQ(plan->caches.size(), 1u);
  EXPECT_EQ(plan->caches[0].input, 1u);
  EXPECT_EQ(plan->caches[0].output, 1u);
}

TEST_F(Planned, OmittedInputsAndOutputsHaveNoSlot) {
  const ValueId x = graph.input("x", {1, 2, 1, 4});
  graph.output(graph.add("y", "Attention", {x, x, x, ValueId::none}));
  graph.output(graph.add("z", "Clip", {x, ValueId::none, graph.floats("high", {})}));
  make();
  EXPECT_EQ(step("z").inputs[1], kNoSlot);
  EXPECT_NE(step("z").inputs[2], kNoSlot);
}

TEST_F(Planned, BodiesHavePlansOfTheirOwn) {
  PlanGraph body;
  body.output(body.add("twice", "Add", {body.input("x", {2}), body.floats("one", {2})}));
  body.g.captures = 1;
  const ValueId condition = graph.input("c", {}, DType::boolean), x = graph.input("x", {2});
  graph.output(graph.add_if("either", condition, x, body, body, "y"));
  make();
  ASSERT_EQ(step("either").bodies.size(), 2u);
  EXPECT_EQ(step("either").body_names[1], "else_branch");
  EXPECT_EQ(step("either").bodies[0]->captures, 1u);
  EXPECT_EQ(step("either").bodies[0]->steps.size(), 1u);
  EXPECT_FALSE(plan->reads(1));  // only bodies read it
}

// The name of the step of one Add whose label is `own`, in a model of these nodes.
std::string name_of_an_add(const std::string& own, std::vector<std::string> origins, PlanGraph& model) {
  ModelNodes nodes;
  nodes.add(model.g);
  PlanGraph graph;
  const ValueId x = graph.input("x", {4});
  graph.output(graph.add(own, "Add", {x, x}));
  graph.g.node(graph.g.order()[0]).origins = std::move(origins);
  return build_plan(graph.g, {.nodes = &nodes})->steps[0].name;
}

TEST(StepNames, AreThoseOfTheNodesOfTheModel) {
  PlanGraph model;
  const ValueId x = model.input("x", {4}), gelu = model.add("gelu", "Gelu", {x}), sum = model.add("sum", "Add", {x, x});
  const ValueId e = model.add("e", "Exp", {gelu}), f = model.add("f", "Floor", {e});
  for (const ValueId out : {sum, f}) model.output(out);
  EXPECT_EQ(name_of_an_add("sum", {}, model), "node 'sum' (Add)");
  EXPECT_EQ(name_of_an_add("new", {}, model), "node 'new' (Add)");
  EXPECT_EQ(name_of_an_add("gelu", {}, model), "node 'gelu' (Gelu), step Add");
  EXPECT_EQ(name_of_an_add("gelu", {"gelu"}, model), "node 'gelu' (Gelu), step Add");
  EXPECT_EQ(name_of_an_add("gelu", {"e", "sum", "gelu"}, model), "node 'sum' (Add)");
  EXPECT_EQ(name_of_an_add("f", {"gelu", "f"}, model), "node 'gelu' (Gelu), node 'f' (Floor), step Add");
  EXPECT_EQ(name_of_an_add("f", {"gelu", "e", "f", "gelu"}, model),
            "node 'gelu' (Gelu), node 'e' (Exp), node 'f' (Floor) and 1 more, step Add");
}

TEST(StepNames, AreNotTakenFromOneOfTwoOperators) {
  PlanGraph model;
  const ValueId x = model.input("x", {4});
  model.output(model.add("twice", "Neg", {x}));
  model.output(model.add("twice", "Exp", {x}));
  EXPECT_EQ(name_of_an_add("twice", {}, model), "node 'twice' (Add)");
}

TEST(StepNames, OfANodeWithoutANameAreThoseOfItsOutput) {
  PlanGraph model;
  model.output(model.add("", "Gelu", {model.input("x", {4})}));
  model.g.value(model.g.outputs[0]).name = "y";
  EXPECT_EQ(name_of_an_add("new", {"y"}, model), "node of output 'y' (Gelu), step Add");
}

TEST_F(Planned, NamesOfNodesAreNotCollectedWhenLoadingIsCancelled) {
  graph.output(graph.add("y", "Neg", {graph.input("x", {4})}));
  const std::atomic<bool> cancel{true};
  const LoadingThread loading(&cancel);
  EXPECT_THROW(ModelNodes().add(graph.g), Error);
}

}  // namespace
}  // namespace retort
