// Tests whole runs of a plan: results, errors, cancellation, and the memory that a frame keeps between runs.
#include "run/frame.h"

#include "base/thread_pool.h"
#include "run/run_testing.h"

namespace retort {
namespace {

struct Run : testing::Test {
  void make(MemoryBudget* budget = nullptr) { frame.emplace(graph.plan(), budget); }
  /// Runs once and lets the frame allocate the outputs.
  std::vector<Value> run(const std::vector<Value>& inputs) {
    std::vector<const Value*> given;
    for (const Value& v : inputs) given.push_back(&v);
    std::vector<Value> results(frame->plan().outputs.size());
    std::vector<Value*> outputs;
    for (Value& v : results) outputs.push_back(&v);
    request.inputs = given;
    request.outputs = outputs;
    frame->run(request);
    return results;
  }
  static Value of(std::vector<float> content) { return Tensor::of<float>({int64_t(content.size())}, content); }
  static std::vector<float> floats(const Value& v) {
    const Tensor& t = *v.tensor();
    return {t.data<float>(), t.data<float>() + t.count()};
  }

  PlanGraph graph;
  std::optional<Frame> frame;
  RunRequest request;
};

/// y = Softmax(x + x) - x
struct Chain : Run {
  Chain() {
    const ValueId x = graph.input("x", {graph.symbol("n")});
    graph.output(graph.add("y", "Sub", {graph.add("b", "Softmax", {graph.add("a", "Add", {x, x})}), x}));
  }
};

TEST_F(Chain, GivesTheSameForEveryShape) {
  make();
  for (const std::vector<float>& x : {std::vector<float>{0, 0}, {1}, {0, 0}, {2, 2, 2, 2}}) {
    std::vector<float> want;
    for (const float v : x) want.push_back(1 / float(x.size()) - v);
    EXPECT_EQ(floats(run({of(x)})[0]), want);
  }
  EXPECT_EQ(frame->runs(), 4u);
}

TEST_F(Chain, HoldsMemoryBetweenRunsUntilItIsFreed) {
  make();
  EXPECT_EQ(frame->workspace_bytes(), 0u);
  run({of(std::vector<float>(1000))});
  EXPECT_GE(frame->workspace_bytes(), 4000u);
  frame->give_back();
  EXPECT_EQ(frame->workspace_bytes(), 0u);
  EXPECT_EQ(floats(run({of({0, 0})})[0]), (std::vector<float>{0.5f, 0.5f}));
}

TEST_F(Chain, EndsAtTheNextStepIfTheCallerTerminatesIt) {
  make();
  std::atomic<bool> cancel{true};
  request.cancel = &cancel;
  try {
    run({of({1, 2})});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("the run was terminated at node 'a' (Add)"), std::string::npos) << e.message();
  }
  cancel = false;
  EXPECT_EQ(floats(run({of({0, 0})})[0]), (std::vector<float>{0.5f, 0.5f}));
}

TEST_F(Run, ErrorsNameTheStepAndLeaveTheFrameUsable) {
  const ValueId x = graph.input("x", {graph.symbol("n")});
  const ValueId i = graph.input("i", {1}, DType::i64);
  graph.output(graph.add("y", "Gather", {x, i}));
  make();
  const auto at = [](int64_t index) { return Value(Tensor::of<int64_t>({1}, {index})); };
  try {
    run({of({1, 2}), at(2)});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message().find("node 'y' (Gather)"), 0u) << e.message();
  }
  EXPECT_EQ(floats(run({of({1, 2}), at(1)})[0]), (std::vector<float>{2}));
}

TEST_F(Run, ShapesThatFollowFromContentAreFoundOnTheWay) {
  const ValueId x = graph.input("x", {graph.symbol("n")});
  const ValueId where = graph.add("where", "NonZero", {x});
  graph.output(graph.add("y", "Add", {where, where}));
  make();
  for (const std::vector<float>& x : {std::vector<float>{1, 0, 1}, {0, 0, 0}, {1, 1, 1}}) {
    const std::vector<Value> y = run({of(x)});
    EXPECT_EQ(y[0].tensor()->count(), size_t(std::ranges::count(x, 1.0f)));
  }
}

TEST_F(Run, BranchesGiveTheSameBits) {
  const ValueId x = graph.input("x", {700, 700});
  const ValueId b = graph.add("b", "Cos", {graph.add("a", "Sin", {x})});
  const ValueId d = graph.add("d", "Neg", {graph.add("c", "Exp", {x})});
  graph.output(graph.add("y", "Add", {b, d}));
  make();
  Tensor in(DType::f32, {700, 700});
  for (size_t i = 0; i < in.count(); ++i) in.mutable_data<float>()[i] = float(i % 17) / 4;
  const std::vector<float> want = floats(run({in})[0]);
  ThreadPool pool({.threads = 2});
  request.forks = Parallel(&pool, nullptr);
  frame.emplace(graph.plan());
  EXPECT_EQ(floats(run({in})[0]), want);
  EXPECT_EQ(floats(run({in})[0]), want);
}

TEST_F(Run, BodiesReadTheirCaptures) {
  PlanGraph yes, no;
  const ValueId in_yes = yes.input("x", {2}), in_no = no.input("x", {2});
  yes.output(yes.add("twice", "Add", {in_yes, in_yes}));
  no.output(no.add("minus", "Neg", {in_no}));
  yes.g.captures = no.g.captures = 1;
  const ValueId condition = graph.input("c", {}, DType::boolean), x = graph.input("x", {2});
  graph.output(graph.add_if("either", condition, x, yes, no, "y"));
  make();
  const auto flag = [](bool v) { return Value(Tensor::of<bool>({}, {v})); };
  EXPECT_EQ(floats(run({flag(true), of({1, 2})})[0]), (std::vector<float>{2, 4}));
  EXPECT_EQ(floats(run({flag(false), of({1, 2})})[0]), (std::vector<float>{-1, -2}));
  EXPECT_EQ(floats(run({flag(true), of({3, 4})})[0]), (std::vector<float>{6, 8}));
}

}  // namespace
}  // namespace retort
