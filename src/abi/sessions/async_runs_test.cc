#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "abi/sessions/session.h"

namespace retort::abi {
namespace {

TEST(AsyncRuns, FinishesStartedRunsBeforeItIsDestroyed) {
  std::atomic<int> done{0};
  {
    AsyncRuns runs(2);
    for (int i = 0; i < 20; ++i) runs.start([&] { ++done; });
  }
  EXPECT_EQ(done, 20);
}

// A callback may release the session: its thread then returns to the queue of a destroyed owner.
TEST(AsyncRuns, MayBeDestroyedByOneOfItsRuns) {
  auto runs = std::make_unique<AsyncRuns>(2);
  std::promise<void> gone;
  runs->start([&] {
    runs.reset();
    gone.set_value();
  });
  EXPECT_EQ(gone.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST(AsyncRuns, AForkedChildHasSeparateThreads) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  auto runs = std::make_unique<AsyncRuns>(2);
  std::promise<void> first;
  runs->start([&] { first.set_value(); });
  first.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that waits for a thread of the parent
    std::atomic<int> done{0};
    runs->start([&] { ++done; });
    runs.reset();
    _exit(done == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace retort::abi
