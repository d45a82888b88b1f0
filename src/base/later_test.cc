#include "base/later.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

namespace retort {
namespace {

struct Told {
  std::promise<std::thread::id>& promise;
  ~Told() { promise.set_value(std::this_thread::get_id()); }
};

TEST(Later, DropsOnAnotherThread) {
  for (int i = 0; i < 3; ++i) {
    std::promise<std::thread::id> dropped;
    drop_later(std::make_shared<Told>(dropped));
    EXPECT_NE(dropped.get_future().get(), std::this_thread::get_id());
  }
  finish_dropping();
}

TEST(Later, TheCallReturnsBeforeTheObjectIsGone) {
  std::promise<void> may_go;
  std::atomic<int> gone{0};
  const auto slow = [&](void*) {
    may_go.get_future().wait();
    ++gone;
  };
  drop_later(std::shared_ptr<void>(nullptr, slow));
  for (int i = 0; i < 10; ++i) drop_later(std::shared_ptr<void>(nullptr, [&](void*) { ++gone; }));
  EXPECT_EQ(gone, 0);
  may_go.set_value();
  finish_dropping();
  EXPECT_EQ(gone, 11);
  finish_dropping();
}

TEST(Later, ClosesFiles) {
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  close_later(file);
  finish_dropping();
  EXPECT_EQ(fcntl(file, F_GETFD), -1);
}

// A child has none of its parent's threads, and must not wait for them.
TEST(Later, WorksInAForkedChild) {
  std::promise<void> may_go;
  drop_later(std::shared_ptr<void>(nullptr, [&](void*) { may_go.get_future().wait(); }));
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> gone{0};
    finish_dropping();
    drop_later(std::shared_ptr<void>(nullptr, [&](void*) { ++gone; }));
    finish_dropping();
    _exit(gone == 1 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  may_go.set_value();
  finish_dropping();
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace retort
