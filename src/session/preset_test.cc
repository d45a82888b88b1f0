#include "session/preset.h"

#include <gtest/gtest.h>

#include <thread>

#include "session/session_testing.h"
#include "session/threads.h"

namespace retort {
namespace {

SessionOptions with(const char* preset, std::map<std::string, std::string> config = {}) {
  SessionOptions options;
  options.config = std::move(config);
  options.config["session.preset"] = preset;
  return with_preset(std::move(options));
}

TEST(Preset, SetsWhatTheProgramLeavesOpen) {
  const char* spin = "session.intra_op.spin_duration_us";
  EXPECT_EQ(with("low_latency").config_number(spin), 50'000u);
  EXPECT_EQ(with("low_latency", {{spin, "7"}}).config_number(spin), 7u);
  EXPECT_EQ(with("minimal_size").config.size(), 1u);  // unpacked weights would need more memory: each run packs anew
  EXPECT_TRUE(with("high_performance").parallel_execution);
  EXPECT_FALSE(with("low_power").config.contains(spin));
  EXPECT_EQ(preset_of(with("low_powr")), Preset::none);
  EXPECT_EQ(preset_of({}), Preset::none);
}

TEST(Preset, MinimalSizeGivesWorkspacesBack) {
  TestGraph t;
  const ValueId x = t.input("x", {1 << 18});
  t.output(t.add("Add", {t.add("Softmax", {x}), x}), "y");
  SessionOptions options;
  const auto kept = make_session(t.g, options);
  options.config["session.preset"] = "minimal_size";
  const auto small = make_session(t.g, options);
  const std::vector<Value> inputs{Value(random_inputs(t.g)[0])};
  const std::vector<Value> expected = run(*kept, inputs);
  EXPECT_GT(kept->idle_bytes().workspaces, 0u);
  EXPECT_EQ(run(*small, inputs)[0].tensor()->data<float>()[0], expected[0].tensor()->data<float>()[0]);
  EXPECT_EQ(small->idle_bytes().workspaces, 0u);
}

TEST(Preset, AnUnknownOneIsRefused) {
  TestGraph t;
  t.output(t.add("Relu", {t.input("x", {2})}), "y");
  SessionOptions options;
  options.config["session.preset"] = "low_powr";
  try {
    make_session(t.g, options);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_CONTAINS(e.message(), "session.preset is 'low_powr'");
  }
}

TEST(Efficient, RunsUseHalfOfTheThreadsAndWorkersSleep) {
  SessionOptions options;
  options.threads.intra_threads = 4;
  options.parallel_execution = true;
  options.threads.inter_threads = 6;
  const Environment environment(EnvironmentOptions{});
  SessionThreads threads(options, environment);
  threads.set_efficient(true);
  EXPECT_EQ(threads.inside().threads(), 2);
  EXPECT_EQ(Parallel(&threads.inside(), nullptr).workers(), 6);  // for scratch memory
  EXPECT_FALSE(threads.inside().options().spin);
  EXPECT_EQ(threads.branches(), &threads.inside());
  threads.set_efficient(false);
  EXPECT_EQ(threads.inside().threads(), 4);
  EXPECT_EQ(threads.branches()->threads(), 6);
}

// A program may change the type of its work while runs are in progress.
TEST(Efficient, ResultsAreTheSame) {
  TestGraph t;
  const ValueId x = t.input("x", {64, 256});
  t.output(t.add("Softmax", {t.add("MatMul", {x, t.weight("w", {256, 300})})}), "y");
  SessionOptions options;
  options.threads.intra_threads = 4;
  const auto session = make_session(t.g, options);
  const std::vector<Value> inputs{Value(random_inputs(t.g)[0])};
  const auto bytes = [&] {
    const std::vector<Value> results = run(*session, inputs);
    const Tensor& y = *results[0].tensor();
    return std::string(static_cast<const char*>(y.data()), y.bytes());
  };
  const std::string expected = bytes();
  std::thread other([&] {
    for (int i = 0; i < 200; ++i) {
      const char *key = "ep.dynamic.workload_type", *value = i % 2 ? "Default" : "Efficient";
      session->set_dynamic_options({&key, 1}, {&value, 1});
    }
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(bytes(), expected);
  other.join();
  const char *key = "ep.dynamic.workload_type", *value = "Efficient";
  session->set_dynamic_options({&key, 1}, {&value, 1});
  EXPECT_EQ(bytes(), expected);
}

}  // namespace
}  // namespace retort
