// Where the workspaces and results of sessions come from, and what their statistics say.
#include <gtest/gtest.h>

#include "session/binding.h"
#include "session/engine_tests/growing_testing.h"

namespace retort {
namespace {

constexpr size_t kMiB = size_t(1) << 20;

struct SharedMemory : ::testing::Test {
  const std::shared_ptr<Environment> environment = std::make_shared<Environment>(EnvironmentOptions{});
  const GrowingGraph t;

  std::shared_ptr<Session> session(const char* uses) const {
    SessionOptions options;
    options.config["session.use_env_allocators"] = uses;
    return std::make_shared<Session>(environment, std::make_shared<Model>(model_with(t.g)), options);
  }
};

size_t number(const CountedMemory& memory, const char* name) { return std::stoul(memory.statistics().at(name)); }

/// A tensor of that many bytes.
Value floats(size_t bytes) { return ones_of(int64_t(bytes / sizeof(float))); }

TEST_F(SharedMemory, HasWorkspacesAndResultsOfSessionsThatAskForIt) {
  const auto memory = std::make_shared<CountedMemory>(0);
  environment->share_memory(memory);
  const auto own = session("0"), one = session("1"), two = session("1");
  EXPECT_NE(own->memory(), memory);
  EXPECT_EQ(one->memory(), memory);
  run(*own, {floats(kMiB)});
  EXPECT_EQ(number(*memory, "NumAllocs"), 0u);
  std::vector<Value> result = run(*one, {floats(kMiB)});
  EXPECT_EQ(number(*memory, "NumArenaExtensions"), 1u);
  EXPECT_GE(number(*memory, "InUse"), 2 * kMiB);
  EXPECT_LT(number(*memory, "InUse"), 3 * kMiB);
  result.clear();
  EXPECT_LT(number(*memory, "InUse"), 2 * kMiB);
  EXPECT_GE(number(*memory, "MaxInUse"), 2 * kMiB);
  const size_t allocations = number(*memory, "NumAllocs");
  for (int i = 0; i < 10; ++i) run(*one, {floats(kMiB)});
  EXPECT_EQ(number(*memory, "NumAllocs"), allocations + 10);  // the results; the workspace is kept
  EXPECT_EQ(number(*memory, "NumArenaExtensions"), 1u);
  run(*two, {floats(kMiB)});
  EXPECT_EQ(number(*memory, "NumArenaExtensions"), 2u);
}

TEST_F(SharedMemory, ItsLimitBoundsAllSessionsTogether) {
  environment->share_memory(std::make_shared<CountedMemory>(5 * kMiB));
  const auto one = session("1"), two = session("1");
  const auto failure = [](Session& s, size_t bytes) {
    try {
      run(s, {floats(bytes)});
    } catch (const Error& e) {
      return e.message();
    }
    return std::string();
  };
  EXPECT_EQ(failure(*one, 2 * kMiB), "");
  EXPECT_EQ(failure(*one, kMiB), "");
  EXPECT_EQ(failure(*two, 2 * kMiB), "") << "the workspace that the other session keeps is not freed";
  EXPECT_EQ(failure(*one, 2 * kMiB), "");
  EXPECT_CONTAINS(failure(*one, 4 * kMiB), "max_mem of the arena is 5242880 bytes");
  EXPECT_EQ(failure(*two, 2 * kMiB), "") << "the workspace of a run that failed is not freed";
}

// A session keeps the memory that it was made with.
TEST_F(SharedMemory, OtherMemoryIsForLaterSessions) {
  const auto memory = std::make_shared<CountedMemory>(0);
  environment->share_memory(memory);
  const auto before = session("1");
  environment->share_memory(nullptr);
  const auto after = session("1");
  EXPECT_EQ(before->memory(), memory);
  ASSERT_TRUE(after->memory());
  EXPECT_NE(after->memory(), memory);
}

// Also of results that a binding keeps, and of those whose size only the run tells.
TEST_F(SharedMemory, ASessionCountsItsOwn) {
  TestGraph g;
  g.output(g.add("NonZero", {g.input("x", {g.symbol("n")})}), "y");
  const std::shared_ptr<Session> s = make_session(g.g, {});
  s->memory()->count_results();
  {
    const std::vector<Value> y = run(*s, {floats(kMiB)});
    EXPECT_GE(number(*s->memory(), "InUse"), 2 * kMiB);  // 64-bit indices
  }
  const std::shared_ptr<Session> bound = session("0");
  bound->memory()->count_results();
  Binding binding(bound);
  binding.bind_input("x", floats(kMiB));
  binding.bind_output("y", MemorySpace{});
  for (int i = 0; i < 5; ++i) binding.run(nullptr);
  EXPECT_EQ(number(*bound->memory(), "NumAllocs"), 2u);
  EXPECT_GE(number(*bound->memory(), "InUse"), 2 * kMiB);
}

}  // namespace
}  // namespace retort
