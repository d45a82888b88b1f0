#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace retort {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool({.threads = threads});
    for (size_t tasks : {0u, 1u, 2u, 5u, 1000u}) {
      std::vector<std::atomic<int>> hits(tasks);
      pool.for_each(tasks, nullptr, [&](size_t i, int worker) {
        EXPECT_LT(worker, threads);
        hits[i]++;
      });
      for (auto& h : hits) EXPECT_EQ(h, 1);
    }
  }
}

TEST(ThreadPool, SecondCallerRunsItsOwnTasks) {
  ThreadPool pool({.threads = 2});
  std::vector<std::thread> callers;
  std::atomic<size_t> sum{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int r = 0; r < 200; ++r) pool.for_each(17, nullptr, [&](size_t i, int) { sum += i; });
    });
  }
  for (auto& c : callers) c.join();
  EXPECT_EQ(sum, 4u * 200 * (16 * 17 / 2));
}

TEST(ThreadPool, CancelSkipsTheRest) {
  ThreadPool pool({.threads = 2});
  std::atomic<bool> cancel{false};
  std::atomic<int> done{0};
  pool.for_each(100000, &cancel, [&](size_t, int) {
    if (++done == 10) cancel = true;
  });
  EXPECT_LT(done, 100000);
}

TEST(ThreadPool, WorksAfterSleeping) {
  ThreadPool pool({.threads = 3, .linger = std::chrono::microseconds(1)});
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> done{0};
    pool.for_each(50, nullptr, [&](size_t, int) { done++; });
    EXPECT_EQ(done, 50);
    usleep(2000);
  }
}

TEST(ThreadPool, SurvivesFork) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  ThreadPool pool({.threads = 3});
  std::atomic<int> done{0};
  pool.for_each(50, nullptr, [&](size_t, int) { done++; });
  const pid_t child = fork();
  if (child == 0) {
    done = 0;
    pool.for_each(50, nullptr, [&](size_t, int) { done++; });
    _exit(done == 50 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The child is not affected by what the parent was doing: its pool is idle, and has workers again.
TEST(ThreadPool, SurvivesAForkInTheMiddleOfALoop) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  ThreadPool pool({.threads = 2});
  std::atomic<bool> inside{false}, leave{false};
  std::thread caller([&] {
    pool.for_each(2, nullptr, [&](size_t, int) {
      inside = true;
      while (!leave) std::this_thread::yield();
    });
  });
  while (!inside) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that waits for a worker that does not exist
    std::atomic<int> there{0};
    pool.for_each(2, nullptr, [&](size_t, int) {  // returns when two threads are in it at the same time
      ++there;
      while (there < 2) std::this_thread::yield();
    });
    _exit(there == 2 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  leave = true;
  caller.join();
}

// Workers may be moved to other processors while they sleep; while they work, they may run wherever the process may.
TEST(ThreadPool, WorkersMayRunAnywhere) {
  cpu_set_t whole;
  ASSERT_EQ(sched_getaffinity(0, sizeof whole, &whole), 0);
  ThreadPool pool({.threads = 3, .linger = std::chrono::microseconds(0)});
  std::atomic<int> elsewhere{0}, seen{0};
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 2));
    pool.for_each(6, nullptr, [&](size_t, int worker) {
      if (worker == 0) return std::this_thread::sleep_for(std::chrono::microseconds(200));
      cpu_set_t mine;
      if (sched_getaffinity(0, sizeof mine, &mine) == 0 && !CPU_EQUAL(&mine, &whole)) ++elsewhere;
      ++seen;
    });
  }
  EXPECT_GT(seen, 0);
  EXPECT_EQ(elsewhere, 0);
}

}  // namespace
}  // namespace retort
