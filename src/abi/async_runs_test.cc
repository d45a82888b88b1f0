#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "abi/session.h"

namespace retort::abi {
namespace {

TEST(AsyncRuns, FinishesWhatWasBegunBeforeItIsGone) {
  std::atomic<int> done{0};
  {
    AsyncRuns runs(2);
    for (int i = 0; i < 20; ++i) runs.start([&] { ++done; });
  }
  EXPECT_EQ(done, 20);
}

// As when a callback releases the session: the thread comes back to the queue of an owner that is gone.
TEST(AsyncRuns, MayBeDestroyedByOneOfItsRuns) {
  auto runs = std::make_unique<AsyncRuns>(2);
  std::promise<void> gone;
  runs->start([&] {
    runs.reset();
    gone.set_value();
  });
  EXPECT_EQ(gone.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

}  // namespace
}  // namespace retort::abi
