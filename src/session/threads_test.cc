// Whose threads a session uses, and turns on a device.
#include "session/threads.h"

#include <gtest/gtest.h>

#include <thread>

#include "session/turns.h"

namespace retort {
namespace {

SessionOptions with(int inside, int between, bool parallel) {
  SessionOptions options;
  options.threads.intra_threads = inside;
  options.threads.inter_threads = between;
  options.parallel_execution = parallel;
  return options;
}

TEST(SessionThreads, AreItsOwnUnlessOptionsSayOtherwise) {
  EnvironmentOptions shared;
  shared.threads.emplace().intra_threads = 2;
  const Environment environment(shared);
  const SessionThreads own(with(3, 0, false), environment);
  EXPECT_FALSE(own.are_shared());
  EXPECT_EQ(own.inside().threads(), 3);
  SessionOptions options = with(3, 0, true);
  options.own_threads = false;
  const SessionThreads lent(options, environment);
  EXPECT_TRUE(lent.are_shared());
  EXPECT_EQ(&lent.inside(), environment.shared_pool());
  EXPECT_EQ(lent.branches(), environment.branch_pool());
}

TEST(SessionThreads, OwnOnesServeWhereTheEnvironmentHasNone) {
  SessionOptions options = with(2, 0, false);
  options.own_threads = false;
  const Environment environment(EnvironmentOptions{});
  EXPECT_FALSE(SessionThreads(options, environment).are_shared());
}

TEST(SessionThreads, BranchesRunOnThreadsOnlyIfTheyMayRunAtTheSameTime) {
  const Environment environment(EnvironmentOptions{});
  EXPECT_EQ(SessionThreads(with(2, 3, false), environment).branches(), nullptr);
  const SessionThreads same(with(2, 2, true), environment), other(with(2, 3, true), environment);
  EXPECT_EQ(same.branches(), &same.inside());
  EXPECT_EQ(other.branches()->threads(), 3);
  EXPECT_EQ(other.inside().threads(), 2);
}

TEST(SessionThreads, AUseMayEndWhileAnotherGoesOn) {
  SessionOptions options = with(2, 0, false);
  options.config["session.force_spinning_stop"] = "1";
  const Environment environment(EnvironmentOptions{});
  SessionThreads threads(options, environment);
  std::atomic<int> calls{0};
  const auto work = [&] { Parallel(&threads.inside(), nullptr).for_each(2, [&](size_t, int) { ++calls; }); };
  {
    const SessionThreads::Use outer(threads);
    { const SessionThreads::Use inner(threads); }
    work();
  }
  work();  // workers that rest are woken
  EXPECT_EQ(calls, 4);
}

TEST(Turns, RunsWaitForEachOtherOnlyIfTheDeviceServesOneAtATime) {
  Turns free(false), single(true);
  const auto first = free.take(), second = free.take();
  EXPECT_FALSE(first.owns_lock());
  EXPECT_FALSE(second.owns_lock());
  auto turn = single.take();
  std::atomic<bool> had_turn{false};
  std::thread other([&] {
    const auto next = single.take();
    had_turn = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(had_turn);
  turn.unlock();
  other.join();
  EXPECT_TRUE(had_turn);
}

}  // namespace
}  // namespace retort
