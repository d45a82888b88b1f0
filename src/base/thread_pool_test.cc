#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string>

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

void wait_for(const std::atomic<int>& count, int least) {
  while (count < least) std::this_thread::yield();
}

TEST(ThreadPool, AWorkerRunsItsOwnPartInEveryLoop) {
  constexpr int kThreads = 4, kEach = 8;
  ThreadPool pool({.threads = kThreads});
  for (int loop = 0; loop < 20; ++loop) {
    std::vector<int> by(size_t(kThreads * kEach), -1);
    std::vector<std::atomic<int>> begun(kThreads);
    pool.for_each(by.size(), nullptr, [&](size_t i, int worker) {
      by[i] = worker;
      ++begun[size_t(worker)];
      const int least = i % kEach == 0 ? 1 : i % kEach == kEach - 1 ? kEach : 0;
      for (const auto& b : begun) wait_for(b, least);  // nobody helps before all are in their last tasks
    });
    for (size_t i = 0; i < by.size(); ++i) EXPECT_EQ(by[i], int(i) / kEach) << "task " << i;
  }
}

TEST(ThreadPool, OthersRunThePartOfAWorkerThatIsHeld) {
  ThreadPool pool({.threads = 2});
  for (int held = 0; held < 2; ++held) {
    constexpr int kTasks = 64;
    std::atomic<int> done{0}, by_held{0};
    pool.for_each(kTasks, nullptr, [&](size_t, int worker) {
      if (worker == held) {
        ++by_held;
        wait_for(done, kTasks - 1);  // in its first task
      } else {
        while (by_held == 0) std::this_thread::yield();
      }
      ++done;
    });
    EXPECT_EQ(done, kTasks);
    EXPECT_EQ(by_held, 1) << "worker " << held;
  }
}

TEST(ThreadPool, InOrderAWorkerTakesTheFirstTaskThatIsLeft) {
  ThreadPool pool({.threads = 2});
  std::atomic<int> done{0};
  std::vector<size_t> taken;  // by the worker that did not get the first task
  pool.for_each(
      64, nullptr,
      [&](size_t i, int) {
        if (i == 0) return wait_for(done, 63);
        taken.push_back(i);
        ++done;
      },
      TaskOrder::in_order);
  for (size_t i = 0; i < 63; ++i) EXPECT_EQ(taken[i], i + 1);
}

TEST(ThreadPool, ThrowsWhatATaskHasThrown) {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool({.threads = threads});
    for (const size_t failing : {size_t(0), size_t(999)}) {  // tasks of the caller and of the last worker
      try {
        pool.for_each(1000, nullptr, [&](size_t i, int) {
          if (i == failing) throw std::runtime_error("task " + std::to_string(i));
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& e) {
        EXPECT_EQ(e.what(), "task " + std::to_string(failing));
      }
    }
    std::atomic<int> after{0};
    pool.for_each(100, nullptr, [&](size_t, int) { ++after; });
    EXPECT_EQ(after, 100);
  }
}

TEST(ThreadPool, SkipsTheTasksAfterOneThatThrows) {
  ThreadPool pool({.threads = 2});
  std::atomic<int> thrown{0}, done{0};
  const auto body = [&](size_t i, int) {
    if (i == 0) {
      ++thrown;
      throw std::runtime_error("the first");
    }
    wait_for(thrown, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // all tasks would take 100 s
    ++done;
  };
  EXPECT_THROW(pool.for_each(100000, nullptr, body), std::runtime_error);
  EXPECT_LT(done, 99999);
}

TEST(ThreadPool, ATaskMayHaveALoopInside) {
  ThreadPool pool({.threads = 3});
  std::vector<std::atomic<int>> hits(20 * 30);
  pool.for_each(20, nullptr, [&](size_t outer, int) {
    pool.for_each(30, nullptr, [&](size_t inner, int) { hits[outer * 30 + inner]++; });
  });
  for (auto& h : hits) EXPECT_EQ(h, 1);
}

// Four threads on two processors, while a fifth uses them, too: no worker waits for one that has no processor.
TEST(ThreadPool, MoreThreadsThanProcessorsRunEveryTaskOnce) {
  cpu_set_t whole, two;
  ASSERT_EQ(sched_getaffinity(0, sizeof whole, &whole), 0);
  CPU_ZERO(&two);
  for (size_t cpu = 0; CPU_COUNT(&two) < std::min(2, CPU_COUNT(&whole)); ++cpu) {
    if (CPU_ISSET(cpu, &whole)) CPU_SET(cpu, &two);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof two, &two), 0);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
    }
  });
  {
    ThreadPool pool({.threads = 4});
    std::vector<std::atomic<int>> hits(200);
    for (int loop = 1; loop <= 100; ++loop) {
      pool.for_each(hits.size(), nullptr, [&](size_t i, int) { hits[i]++; });
      for (auto& h : hits) EXPECT_EQ(h, loop);
    }
  }
  stop = true;
  other.join();
  sched_setaffinity(0, sizeof whole, &whole);
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
