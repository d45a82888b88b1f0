#include "onnx/read_scratch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace retort::onnx {
namespace {

TEST(ReadScratch, IsDroppedOnAnotherThreadIfTheLoadingIsCancelled) {
  std::atomic<bool> cancel{false};
  const auto where = [](bool ours) {
    std::thread::id dropped;
    {
      const auto drop = [&](int* made) {
        delete made;
        dropped = std::this_thread::get_id();
      };
      const ReadScratch object(std::shared_ptr<int>(new int(1), drop), ours);
      EXPECT_EQ(*object, 1);
    }
    finish_dropping();
    return dropped;
  };
  EXPECT_EQ(where(true), std::this_thread::get_id());
  const LoadingThread loading(&cancel);
  EXPECT_EQ(where(true), std::this_thread::get_id());
  cancel = true;
  EXPECT_NE(where(true), std::this_thread::get_id());
  EXPECT_EQ(where(false), std::this_thread::get_id());
  ReadScratch taken(std::make_shared<int>(2));
  EXPECT_EQ(*taken.take(), 2);
}

}  // namespace
}  // namespace retort::onnx
