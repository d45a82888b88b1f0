#include "base/loading.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/later.h"

namespace retort {
namespace {

TEST(Loading, EndsOnTheThreadThatLoads) {
  std::atomic<bool> cancel{true};
  check_loading();
  {
    const LoadingThread outer(&cancel);
    EXPECT_THROW(check_loading(), Error);
    {
      const LoadingThread inner(nullptr);
      check_loading();
    }
    EXPECT_THROW(check_loading(), Error);
    EXPECT_EQ(loading_cancel(), &cancel);
    std::thread([] { check_loading(); }).join();
    cancel = false;
    check_loading();
  }
  EXPECT_EQ(loading_cancel(), nullptr);
}

TEST(Loading, DropsItsObjectsOnAnotherThreadOnlyIfItMayAndIsCancelled) {
  std::atomic<bool> cancel{false};
  const auto where = [] {
    std::thread::id dropped;
    {
      const LoadingScratch object(std::shared_ptr<int>(new int(1), [&](int* made) {
        delete made;
        dropped = std::this_thread::get_id();
      }));
      EXPECT_EQ(*object, 1);
    }
    finish_dropping();
    return dropped;
  };
  const LoadingThread outer(&cancel);
  EXPECT_EQ(where(), std::this_thread::get_id());
  let_loading_drop_later();
  EXPECT_EQ(where(), std::this_thread::get_id());
  cancel = true;
  EXPECT_NE(where(), std::this_thread::get_id());
  {
    const LoadingThread inner(&cancel);
    EXPECT_EQ(where(), std::this_thread::get_id());
  }
  EXPECT_NE(where(), std::this_thread::get_id());
}

// Parts may have returned early while the flag was set.
TEST(Loading, FailsEvenIfTheFlagWasClearedMeanwhile) {
  LoadCancellation cancellation;
  const CancellableLoading first(cancellation);
  first.end();
  ++cancellation.times;
  cancellation.on = true;
  EXPECT_THROW(first.end(), Error);
  cancellation.on = false;
  EXPECT_THROW(first.end(), Error);
  const CancellableLoading second(cancellation);
  second.end();
}

TEST(Loading, PiecesCoverAllBytesAndEndEarly) {
  std::atomic<bool> cancel{false};
  const LoadingThread loading(&cancel);
  std::string from(size_t(9) << 20, 'a'), to(from.size(), 'b');
  from.back() = 'c';
  copy_in_pieces(to.data(), from.data(), from.size());
  EXPECT_EQ(from, to);
  size_t seen = 0;
  const auto stop = [&](size_t begin, size_t size) {
    EXPECT_EQ(begin, seen);
    seen += size;
    cancel = true;
  };
  EXPECT_THROW(in_pieces(from.size(), stop), Error);
  EXPECT_LT(seen, from.size());
  copy_in_pieces(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace retort
