// Tests devices that work asynchronously.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "session/device_session_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

/// Makes the run use the caller's stream and return without waiting.
void do_not_wait(RunOptions& options, Stream* stream) {
  options.stream = stream;
  options.config["disable_synchronize_execution_providers"] = "1";
}

TEST_F(DeviceTest, StreamsWorkBesideTheHost) {
  control.delay = std::chrono::milliseconds(3);
  const auto s =
      session(model_of({"a", "b"}, {"c = Add a b", "d = Neg c", "e = Mul d a", "f = Abs e", "y = Add f b"}, {"y"}));
  for (float k = 1; k < 4; ++k) {
    const auto results = run(*s, {host({k, -2}), host({3, 4})});
    EXPECT_EQ(content(results[0]), (Floats{(k + 3) * k + 3, 4 + 4}));
  }
}

TEST_F(DeviceTest, RunsNeedNotWait) {
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}));
  const auto stream = factory->make_stream(0, {});
  RunOptions run_options;
  do_not_wait(run_options, stream.get());
  Binding binding(s);
  binding.bind_input("a", on_device({1}));
  const Tensor y = on_device({0});
  binding.bind_output("y", y);
  std::promise<void> may_work;
  std::atomic<bool> waited{false};
  dynamic_cast<ThreadStream&>(*stream).give([&waited, allowed = may_work.get_future().share()] {
    waited = allowed.wait_for(std::chrono::seconds(10)) != std::future_status::ready;
  });
  for (int i = 0; i < 3; ++i) binding.run(&run_options);
  may_work.set_value();  // before this, the streams do no work
  synchronize(*stream);
  EXPECT_FALSE(waited) << "a run waited for work that the device had not started";
  EXPECT_EQ(content(y), (Floats{3}));
  run_options.config.clear();
  binding.run(&run_options);  // waits for the caller's stream
  EXPECT_EQ(control.runs, 4);
}

TEST_F(DeviceTest, BindingsRunSideBySide) {
  control.delay = std::chrono::microseconds(200);
  const auto s = session(model_of({"a", "b"}, {"c = Add a b", "d = Neg c", "y = Mul d a"}, {"y"}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Binding binding(s);
      const float k = float(t);
      binding.bind_input("a", host({k, 1}));
      binding.bind_input("b", host({1, k}));
      binding.bind_output("y", control.space);
      for (int i = 0; i < 10; ++i) {
        binding.run(nullptr);
        EXPECT_EQ(content(binding.output_value(0)), (Floats{-(k + 1) * k, -(1 + k)}));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

// Host memory may change as soon as a run has returned.
TEST_F(DeviceTest, RunsThatDoNotWaitHaveReadTheHostsMemory) {
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}));
  const auto stream = factory->make_stream(0, {});
  RunOptions run_options;
  do_not_wait(run_options, stream.get());
  float content_of_a[1] = {1};
  const Value a = Tensor(DType::f32, {1}, content_of_a, nullptr);
  Value y = on_device({0});
  const Value* const in[] = {&a};
  Value* const out[] = {&y};
  s->run(in, out, {}, &run_options);
  content_of_a[0] = 100;
  synchronize(*stream);
  EXPECT_EQ(content(y), (Floats{3}));
}

// The memory between parts belongs to the frame, and the next run may use another stream, or none.
TEST_F(DeviceTest, RunsOfOneFrameInSeveralStreams) {
  control.one_by_one = true;
  const auto s = session(model_of({"a"}, {"c = Add a two", "d = Mul c two", "y = Sub d a"}, {"y"}));
  std::vector<Tensor> results;
  std::vector<Value> inputs;  // must stay until all runs are done
  for (float k = 1; k <= 6; ++k) {
    control.delay = std::chrono::milliseconds(int(k) % 2 ? 8 : 1);
    const auto stream = factory->make_stream(0, {});
    RunOptions run_options;
    run_options.stream = int(k) % 3 ? stream.get() : nullptr;
    run_options.config["disable_synchronize_execution_providers"] = "1";
    const Value a = inputs.emplace_back(on_device({k}));
    Value y = results.emplace_back(on_device({0}));
    const Value* const in[] = {&a};
    Value* const out[] = {&y};
    s->run(in, out, {}, &run_options);
    if (run_options.stream) synchronize(*stream);
  }
  control.delay = {};
  EXPECT_EQ(content(run(*s, {on_device({7})})[0]), (Floats{11}));
  for (size_t k = 1; k <= 6; ++k) EXPECT_EQ(content(results[k - 1]), (Floats{float(k) + 4}));
}

// The next step reads results in host memory at once.
TEST_F(DeviceTest, PartsMayWriteToTheHost) {
  control.delay = std::chrono::milliseconds(3);
  control.results_on_host = true;
  const auto s = session(model_of({"a"}, {"c = Add a two", "d = Neg c", "y = Mul d two"}, {"y"}));
  for (float k = 1; k < 4; ++k) EXPECT_EQ(content(run(*s, {host({k})})[0]), (Floats{-2 * (k + 2)}));
}

TEST_F(DeviceTest, ValuesGoFromDeviceToDeviceByTheHost) {
  DeviceControl other;
  other.name = "OtherProvider";
  other.space.vendor_id = 0xcafe;
  other.claimed = {"Neg", "Abs"};
  control.delay = other.delay = std::chrono::milliseconds(3);
  const auto second = std::make_shared<TestFactory>(other);
  environment->devices()->add(second);
  SessionOptions o = options();
  o.choose_providers = [&](const Model&) {
    std::vector<std::shared_ptr<Provider>> all;
    all.push_back(factory->make_provider({}, {}, nullptr));
    all.push_back(second->make_provider({}, {}, nullptr));
    return all;
  };
  {
    const auto s = session(
        model_of({"a", "b"}, {"c = Add a b", "d = Neg c", "e = Mul d a", "f = Abs e", "g = Exp f", "y = Sub f b"},
                 {"y", "d", "f", "g"}),
        o);
    for (float k = 1; k < 4; ++k) {
      const auto results = run(*s, {host({k, -2}), host({3, 4})});
      EXPECT_EQ(content(results[0]), (Floats{(k + 3) * k - 3, 0}));
      EXPECT_EQ(content(results[1]), (Floats{-k - 3, -2}));
      EXPECT_EQ(content(results[2]), (Floats{(k + 3) * k, 4}));
    }
    EXPECT_EQ(other.runs, 6);
  }
  environment->devices()->remove("OtherProvider");
}

TEST_F(DeviceTest, TerminatedRunsLeaveTheSessionUsable) {
  control.delay = std::chrono::milliseconds(100);  // per part: the run is still in progress when it is terminated
  control.one_by_one = true;
  const auto s = session(model_of({"a"}, {"c = Add a two", "d = Neg c", "e = Add d two", "y = Neg e"}, {"y"}));
  RunOptions run_options;
  std::thread stops([&] {
    while (control.runs == 0) std::this_thread::yield();
    ++run_options.terminations;
    run_options.terminate = true;
  });
  const Value a = host({1});
  Value y;
  const Value* const in[] = {&a};
  Value* const out[] = {&y};
  EXPECT_CONTAINS(error_of([&] { s->run(in, out, {}, &run_options); }), "terminated");
  stops.join();
  EXPECT_TRUE(y.empty());
  EXPECT_EQ(control.run_begins, control.run_ends);
  EXPECT_EQ(content(run(*s, {a})[0]), (Floats{1}));
}

}  // namespace
}  // namespace retort
