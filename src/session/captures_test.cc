// Recorded runs: who makes them, who replays them, and which calls cannot use them.
#include "session/captures.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "plan/plan_testing.h"
#include "session/session_parts_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

const MemorySpace kCapturing{DeviceType::gpu, MemoryKind::device, 0xbeef, 0, 0};

/// Records a run when it has seen enough of them.
class TestCapture : public RunCapture {
 public:
  bool allows_shapes_on_cpu() const override { return false; }
  bool has(int id) const override {
    const std::lock_guard lock(mutex_);
    const auto runs = runs_.find(id);
    return runs != runs_.end() && runs->second >= needed;
  }
  void replay(int) override { ++replays; }
  void release(int id) override { see(id, 0); }
  /// This many runs had this number.
  void see(int id, int runs) {
    const std::lock_guard lock(mutex_);
    runs_[id] = runs;
  }
  std::atomic<int> needed{2}, replays{0};

 private:
  mutable std::mutex mutex_;
  std::map<int, int> runs_;  ///< by number
};

class CapturesTest : public ::testing::Test {
 protected:
  CapturesTest() {
    options.config["gpu_graph_id"] = "7";
    outputs[0] = &y;
  }
  static std::shared_ptr<const Plan> plan() {
    PlanGraph p;
    const ValueId a = p.input("a", {2}), b = p.input("b", {2});
    p.output(p.add("y", "Add", {a, b}));
    return build_plan(p.g, {.input_spaces = {kCapturing, {}}});
  }
  static RouteInputs two() {
    RouteInputs inputs;
    inputs.add(0, {}, false);
    inputs.add(1, {}, false);
    return inputs;
  }
  static Value on_device(void* memory) { return Tensor(DType::f32, {2}, memory, nullptr, kCapturing); }
  RunCall call() { return {given, outputs, {}, &options, binding}; }
  /// What a session does in a run that succeeds.
  void run_once() {
    capture.see(7, ++runs);
    std::unique_ptr<Frame> frame = route.frames().take();
    captures.keep(call(), {route, nullptr}, frame);
    if (frame) route.frames().give(std::move(frame));
  }
  void run() {
    captures.run(call(), [&] { run_once(); });
  }

  const SmallModel small;
  const Ports ports = ports_of(small.model);
  Route route{ports, two(), plan(), nullptr};
  Turns turns{true};
  TestCapture capture;
  Captures captures{capture, ports, turns};
  RunOptions options;
  BindingMemory binding;
  float memory[4][2] = {};
  Value a = on_device(memory[0]), b = vector({3, 4}), y = Tensor(DType::f32, {2}, memory[2], nullptr);
  std::vector<const Value*> given{&a, &b, nullptr};
  Value* outputs[1];
  std::atomic<int> runs{0};
};

TEST_F(CapturesTest, RunsUntilTheProviderHasRecordedThenReplays) {
  run();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(capture.replays, 0);
  run();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(capture.replays, 1);
}

TEST_F(CapturesTest, TheFrameOfARecordedRunIsKept) {
  std::unique_ptr<Frame> frame = route.frames().take();
  captures.keep(call(), {route, nullptr}, frame);
  EXPECT_NE(frame, nullptr) << "the provider has not recorded the run";
  capture.see(7, 2);
  captures.keep(call(), {route, nullptr}, frame);
  EXPECT_EQ(frame, nullptr);
}

TEST_F(CapturesTest, NegativeNumbersAreNeverRecorded) {
  options.config["gpu_graph_id"] = "-1";
  run();
  run();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(capture.replays, 0);
}

TEST_F(CapturesTest, WithoutANumberTheNumberIsZero) {
  options.config.clear();
  capture.needed = 1;
  captures.run(call(), [&] { capture.see(0, 1); });
  EXPECT_TRUE(capture.has(0));
}

TEST_F(CapturesTest, AProviderThatNeverRecordsIsAnError) {
  capture.needed = 100;
  expect_part(error_of([&] { run(); }), "after 8 runs the provider has not captured them as graph 7");
  EXPECT_EQ(runs, 8);
}

TEST_F(CapturesTest, AReleasedRunIsRecordedAgain) {
  run();
  captures.release(7);
  runs = 0;
  run();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(capture.replays, 0);
}

TEST_F(CapturesTest, ARecordWhoseRunWasNotKeptIsNotReplayed) {
  runs = 2;
  capture.see(7, runs);  // the provider has a record from another session
  run();
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(capture.replays, 0);
}

TEST_F(CapturesTest, InputsMustLieWhereTheyDid) {
  run();
  const Value elsewhere = on_device(memory[1]), longer = Tensor(DType::f32, {3}, memory[0], nullptr, kCapturing);
  given[0] = &elsewhere;
  expect_part(error_of([&] { run(); }), "input 'a' lies elsewhere than it did in the run that was captured as graph 7");
  given[0] = &longer;
  expect_part(error_of([&] { run(); }), "input 'a' is [3], and was [2]");
  const Value host = Tensor(DType::f32, {2}, memory[0], nullptr);
  given[0] = &host;
  expect_part(error_of([&] { run(); }), "bind it there");
}

TEST_F(CapturesTest, InputsThatTheHostReadsMayChange) {
  run();
  const Value other = vector({5, 6});
  given[1] = &other;
  run();
  EXPECT_EQ(capture.replays, 1);
}

TEST_F(CapturesTest, AnOverriddenInputIsNotInTheRecord) {
  run();
  const Value w = vector({1});
  given[2] = &w;
  expect_part(error_of([&] { run(); }), "input 'w' is given, and had the model's value");
}

TEST_F(CapturesTest, OutputsMustLieWhereTheyDid) {
  run();
  Value other = Tensor(DType::f32, {2}, memory[3], nullptr);
  outputs[0] = &other;
  expect_part(error_of([&] { run(); }), "output 'y' lies elsewhere than it did");
  outputs[0] = nullptr;
  expect_part(error_of([&] { run(); }), "output 'y' is not given, and was");
}

TEST_F(CapturesTest, LastResultsAreClearedOnceAndOnlyForRuns) {
  Value result = vector({1});
  Value* const results[] = {&result};
  binding.last_results = results;
  captures.run(call(), [&] {
    EXPECT_EQ(result.empty(), runs == 0) << "the second run writes to the result of the first";
    result = vector({2});
    run_once();
  });
  EXPECT_EQ(runs, 2);
  run();
  EXPECT_FALSE(result.empty()) << "a replay writes to it";
}

TEST_F(CapturesTest, ThreadsThatWantTheSameRunRecordItOnce) {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) all.emplace_back([&] { run(); });
  for (std::thread& t : all) t.join();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(capture.replays, 3);
}

TEST_F(CapturesTest, AReplayWaitsForItsTurn) {
  run();
  auto turn = turns.take();
  std::atomic<bool> done{false};
  std::thread other([&] {
    run();
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(done);
  turn.unlock();
  other.join();
  EXPECT_EQ(capture.replays, 1);
}

}  // namespace
}  // namespace retort
