// Branches that run at the same time: results have the same bits as one after another, branches share no memory, and
// errors and termination work in the middle.
#include <gtest/gtest.h>

#include <condition_variable>
#include <thread>

#include "base/sanitized_testing.h"
#include "session/session_testing.h"

namespace retort {
namespace {

/// Called by operators of these tests, by their attribute, before they copy their input.
std::function<void()>& hook(int64_t which) {
  static std::array<std::function<void()>, 4> all;
  return all.at(size_t(which));
}

struct Act {
  int64_t which = 0;
  static constexpr std::tuple attributes{attr("which", &Act::which)};
  void infer(InferContext& c) const { c.set(0, c.dtype(0), c.shape(0)); }
  void run(RunContext& c) const {
    hook(which)();
    std::memcpy(c.out_data(), c.data(0), c.count(0) * sizeof(float));
  }
};
constinit const OpDef op_act = define<Act>({.name = "Act", .domain = "test", .inputs = {"X: T"}, .outputs = {"Y: T"}});

struct ForkGraph : TestGraph {
  ForkGraph() { do_nothing(); }
  ~ForkGraph() { do_nothing(); }
  static void do_nothing() {
    for (int64_t i = 0; i < 4; ++i) hook(i) = [] {};
  }
  ValueId act(ValueId x, int64_t which) {
    Node n;
    n.type = "Act";
    n.domain = "test";
    n.name = "act" + std::to_string(which);
    n.inputs = {x};
    n.outputs = {g.add_value(g.unique_name("acted"))};
    n.op = &op_act;
    n.attributes = {{"which", which}};
    n.params = op_act.parse(n.attributes);
    const NodeId id = g.add_node(std::move(n));
    infer_node(g, g.node(id));
    return g.node(id).outputs[0];
  }
};

/// Large enough that a fork saves time.
const Shape kLarge{600, 600};

std::unique_ptr<Session> parallel_session(const Graph& g, int inside, int between, SessionOptions options = {}) {
  options.parallel_execution = true;
  options.threads.intra_threads = inside;
  options.threads.inter_threads = between;
  return make_session(g, options);
}

std::unique_ptr<Session> sequential_session(const Graph& g) {
  SessionOptions options;
  options.threads.intra_threads = 1;
  options.threads.inter_threads = 4;
  return make_session(g, options);
}

void expect_same_bits(const std::vector<Value>& want, const std::vector<Value>& got) {
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const Tensor &a = *want[i].tensor(), &b = *got[i].tensor();
    ASSERT_EQ(a.shape(), b.shape());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0) << "output " << i;
  }
}

/// Each of two branches waits until both have arrived.
class Meeting {
 public:
  void come() {
    std::unique_lock lock(mutex_);
    ++here_;
    all_.notify_all();
    met_ = all_.wait_for(lock, std::chrono::seconds(20), [&] { return here_ >= 2; }) && met_;
  }
  bool met() const { return met_; }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  int here_ = 0;
  bool met_ = true;
};

struct TwoActs : ForkGraph {
  Meeting meeting;
  TwoActs() {
    const ValueId x = input("x", kLarge);
    const ValueId a = act(x, 0), b = act(x, 1);
    output(add("Add", {a, b}), "y");
    hook(0) = hook(1) = [&] { meeting.come(); };
  }
};

TEST(Branches, BranchesRunAtTheSameTime) {
  const std::pair<int, int> threads[] = {{1, 2}, {1, 5}};
  for (const auto& [inside, between] : threads) {
    const TwoActs t;
    const auto session = parallel_session(t.g, inside, between);
    run(*session, {image(kLarge)});
    EXPECT_TRUE(t.meeting.met()) << between;
  }
}

TEST(Branches, OnSharedThreads) {
  const TwoActs t;
  EnvironmentOptions shared;
  shared.threads = ThreadSettings{.intra_threads = 1, .inter_threads = 2};
  SessionOptions options;
  options.own_threads = false;
  options.parallel_execution = true;
  const auto model = std::make_shared<Model>(model_with(t.g));
  Session session(std::make_shared<Environment>(std::move(shared)), model, options);
  run(session, {image(kLarge)});
  EXPECT_TRUE(t.meeting.met());
}

TEST(Branches, NotUnlessAskedFor) {
  TwoActs t;
  std::vector<std::thread::id> threads;
  hook(0) = hook(1) = [&] { threads.push_back(std::this_thread::get_id()); };
  run(*sequential_session(t.g), {image(kLarge)});
  run(*parallel_session(t.g, 1, 1), {image(kLarge)});
  EXPECT_EQ(threads, std::vector<std::thread::id>(4, std::this_thread::get_id()));
}

std::string error_of(Session& session, const std::vector<Value>& inputs) {
  try {
    run(session, inputs);
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

// Both fail, the later one first.
TEST(Branches, EndsWithTheErrorOfTheFirstStep) {
  TwoActs t;
  const auto session = parallel_session(t.g, 1, 2);
  hook(0) = hook(1) = [] {};
  const std::vector<Value> want = run(*sequential_session(t.g), {image(kLarge)});
  std::atomic<bool> failed = false;
  hook(0) = [&] {
    while (!failed) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    fail(ErrorCode::invalid_argument, "the first");
  };
  hook(1) = [&] {
    failed = true;
    fail(ErrorCode::invalid_argument, "the second");
  };
  const std::string error = error_of(*session, {image(kLarge)});
  EXPECT_CONTAINS(error, "the first");
  EXPECT_CONTAINS(error, "act0");
  hook(0) = [] {};
  const std::string second = error_of(*session, {image(kLarge)});
  EXPECT_CONTAINS(second, "act1");
  hook(1) = [] {};
  expect_same_bits(want, run(*session, {image(kLarge)}));
}

TEST(Branches, EndsWhenTheRunIsTerminated) {
  ForkGraph t;
  const ValueId x = t.input("x", kLarge);
  t.output(t.add("Add", {t.act(t.act(x, 0), 2), t.act(t.act(x, 1), 2)}), "y");
  const auto session = parallel_session(t.g, 1, 2);
  RunOptions options;
  std::atomic<int> late = 0;
  Meeting meeting;
  hook(0) = [&] { meeting.come(); };
  hook(1) = [&] {
    ++options.terminations;
    options.terminate = true;
    meeting.come();
  };
  hook(2) = [&] { ++late; };
  const Value in = image(kLarge);
  const Value* inputs[] = {&in};
  Value y;
  Value* outputs[] = {&y};
  EXPECT_THROW(session->run(inputs, outputs, {}, &options), Error);
  EXPECT_TRUE(y.empty());
  EXPECT_EQ(late, 0);
  options.terminate = false;
  hook(0) = hook(1) = [] {};
  session->run(inputs, outputs, {}, &options);
  EXPECT_EQ(late, 2);
}

void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

// Alone, Relu may overwrite its input after the last reader; here the other branch has not read it yet.
TEST(Branches, NoBranchOverwritesAValueThatAnotherReads) {
  ForkGraph t;
  const ValueId x = t.input("x", kLarge), doubled = t.add("Add", {x, x});
  t.output(t.add("Sub", {t.act(doubled, 0), t.add("Sin", {doubled})}), "y");
  const std::vector<Value> want = run(*sequential_session(t.g), {image(kLarge)});
  hook(0) = wait_a_little;
  expect_same_bits(want, run(*parallel_session(t.g, 1, 2), {image(kLarge)}));
}

TEST(Branches, OutputOverAnInputThatAnotherBranchReads) {
  ForkGraph t;
  const ValueId x = t.input("x", kLarge);
  t.output(t.act(x, 0), "copy");
  t.output(t.add("Sin", {x}), "y");
  const std::vector<Value> want = run(*sequential_session(t.g), {image(kLarge)});
  hook(0) = wait_a_little;
  const auto session = parallel_session(t.g, 1, 2);
  Value in = image(kLarge);
  const Value* inputs[] = {&in};
  std::vector<Value> got(2);
  got[1] = in;  // the same memory
  Value* outputs[] = {&got[0], &got[1]};
  session->run(inputs, outputs, {}, nullptr);
  expect_same_bits(want, got);
}

/// Layers of all kinds, each of which reads some of the last values; several results.
struct RandomGraph : TestGraph {
  RandomGraph(unsigned seed, size_t layers) : random(seed) {
    values = {input("x", {symbol("n"), 64}), input("z", {symbol("n"), 64})};
    for (size_t i = 0; i < layers; ++i) values.push_back(layer(cat("w{}", i)));
    for (size_t i = 0; i < 3; ++i) output(add("Identity", {values[values.size() - 1 - i]}), cat("y{}", i));
  }
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }
  ValueId any() { return values[values.size() - 1 - below(std::min<size_t>(values.size(), 8))]; }
  ValueId layer(const std::string& name) {
    const ValueId x = any();
    switch (below(7)) {
      case 0:
        return add("Softmax", {add("MatMul", {x, weight(name, {64, 64})})});
      case 1:
        return add("MatMul", {add("Softmax", {add("MatMul", {x, add("Transpose", {any()})})}), x});
      case 2:
        return add("Sin", {x});
      case 3:
        return add("Reshape", {add("Sin", {add("Reshape", {x, ints({-1, 32})})}), ints({-1, 64})});
      case 4:
        return add("Add", {x, any()});
      case 5:
        return add("MatMul", {add("Sigmoid", {add("MatMul", {x, weight(name, {64, 256})})}), weight(name, {256, 64})});
      default:
        return add("Tanh", {x});
    }
  }
  std::mt19937 random;
  std::vector<ValueId> values;
};

TEST(Branches, SameBitsAsOneAfterAnother) {
  const std::pair<int, int> threads[] = {{1, 2}, {1, 4}, {2, 2}, {3, 2}};
  for (unsigned seed = 0; seed < 12; seed += sanitized() ? 4 : 1) {
    const RandomGraph t(seed, 20 + seed * 4);
    const auto want = sequential_session(t.g);
    for (const auto& [inside, between] : threads) {
      const auto got = parallel_session(t.g, inside, between);
      for (const int64_t n : {150, 3, 64, 150}) {
        SCOPED_TRACE(cat("seed {}, {} and {} threads, {} rows", seed, inside, between, n));
        const std::vector<Value> inputs{image({n, 64}), image({n, 64}, 5)};
        expect_same_bits(run(*want, inputs), run(*got, inputs));
      }
    }
  }
}

TEST(Branches, RunsOfOneSessionAtTheSameTime) {
  const RandomGraph t(77, 60);
  const auto session = parallel_session(t.g, 1, 3);
  const std::vector<Value> inputs{image({130, 64}), image({130, 64}, 5)};
  const std::vector<Value> want = run(*sequential_session(t.g), inputs);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int r = 0; r < 10; ++r) expect_same_bits(want, run(*session, inputs));
    });
  }
  for (auto& c : callers) c.join();
}

// Steps of later segments are laid out in each run; those of the first are not.
TEST(Branches, BesideSizesThatOnlyTheDataTells) {
  ForkGraph t;
  const ValueId x = t.input("x", kLarge), flags = t.input("flags", {600}, DType::boolean);
  const ValueId both = t.add("Add", {t.act(x, 0), t.act(x, 1)});
  const ValueId some = t.add("Compress", {both, flags}, {{"axis", int64_t(0)}});
  t.output(t.add("Sub", {t.add("Sin", {t.act(some, 0)}), t.add("Cos", {t.act(some, 1)})}), "y");
  Tensor kept(DType::boolean, {600});
  for (size_t i = 0; i < 600; ++i) kept.mutable_data<bool>()[i] = i % 7 != 0;
  const std::vector<Value> inputs{image(kLarge), kept};
  const auto want = sequential_session(t.g), got = parallel_session(t.g, 1, 2);
  for (int i = 0; i < 3; ++i) expect_same_bits(run(*want, inputs), run(*got, inputs));
}

TEST(Branches, RunOneAfterAnotherIfMemoryIsShort) {
  ForkGraph t;
  const ValueId x = t.input("x", kLarge);
  std::vector<ValueId> sums;
  for (int tower = 0; tower < 4; ++tower)
    sums.push_back(t.add("ReduceSum", {t.act(t.act(t.act(x, tower), tower), tower)}));
  t.output(t.add("Concat", sums, {{"axis", int64_t(0)}}), "y");
  const auto sequential = sequential_session(t.g), roomy = parallel_session(t.g, 1, 4);
  const std::vector<Value> want = run(*sequential, {image(kLarge)});
  expect_same_bits(want, run(*roomy, {image(kLarge)}));
  ASSERT_GT(roomy->idle_bytes().workspaces, 2 * sequential->idle_bytes().workspaces);
  SessionOptions options;
  options.config["session.memory_budget_bytes"] = std::to_string(sequential->idle_bytes().workspaces);
  expect_same_bits(want, run(*parallel_session(t.g, 1, 4, options), {image(kLarge)}));
}

// Steps of one branch share memory, as they do without a fork.
TEST(Branches, ABranchUsesItsMemoryAgain) {
  ForkGraph t;
  const ValueId x = t.input("x", kLarge);
  ValueId a = x, b = x;
  for (int i = 0; i < 10; ++i) a = t.act(a, 0), b = t.act(b, 1);
  t.output(t.add("Add", {a, b}), "y");
  const auto session = parallel_session(t.g, 1, 2);
  run(*session, {image(kLarge)});
  EXPECT_LT(session->idle_bytes().workspaces, 5 * 600 * 600 * sizeof(float));
}

}  // namespace
}  // namespace retort
