// Captured runs, as the host uses them.
#include <atomic>
#include <thread>

#include "stream_testing.h"

namespace providers::cuda {
namespace {

class CaptureTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    if (!find_driver()) return;
    stream_ = begin_stream(device());
    captures_ = std::make_shared<Captures>(device(), stream_);
    x_ = on_device(kCount * sizeof(float));
    y_ = on_device(kCount * sizeof(float));
  }
  void TearDown() override {
    if (!find_driver()) return;
    captures_->end();
    captures_.reset();
    release(x_);
    release(y_);
    end_stream(device(), stream_);
    StreamTest::TearDown();
  }
  /// A run of one part, which copies x to y.
  bool run(int id) {
    captures_->run_begins(id);
    const bool captured = part();
    captures_->run_ends();
    check(driver().stream_synchronize(stream_), "waiting");
    return captured;
  }
  bool part() {
    const bool captured = captures_->part_begins(stream_);
    check(driver().copy_on_device(address(y_), address(x_), y_.bytes, stream_), "copying");
    return captured;
  }
  static Address address(const TestValue& v) { return reinterpret_cast<Address>(v.data); }
  void set(float x) { write(address(x_), std::vector<float>(kCount, x), stream_); }
  float y() { return read(address(y_), kCount, stream_)[kCount - 1]; }

  CUstream stream_ = nullptr;
  std::shared_ptr<Captures> captures_;
  TestValue x_, y_;
};

TEST_F(CaptureTest, TheSecondRunIsCapturedAndRepeated) {
  set(1);
  EXPECT_FALSE(run(0));
  EXPECT_FALSE(captures_->has(0));
  EXPECT_EQ(y(), 1);
  set(2);
  EXPECT_TRUE(run(0));
  EXPECT_TRUE(captures_->has(0));
  EXPECT_EQ(y(), 2);  // the captured run has results as well
  for (int i = 3; i < 6; ++i) {
    set(float(i));
    captures_->replay(0);
    EXPECT_EQ(y(), float(i));
  }
  EXPECT_FALSE(run(-1));
  EXPECT_FALSE(run(1));
  EXPECT_TRUE(run(1));
  captures_->release(0);
  EXPECT_FALSE(captures_->has(0));
  EXPECT_THROW(captures_->replay(0), Error);
  captures_->release(7);
}

TEST_F(CaptureTest, TheCaptureEndsWhenTheHostWaits) {
  Stream view(device(), stream_, nullptr, captures_);
  run(0);
  set(4);
  captures_->run_begins(0);
  EXPECT_TRUE(part());
  ASSERT_EQ(message(view.Flush(&view)), "");
  EXPECT_EQ(y(), 4);
  captures_->run_ends();
  EXPECT_TRUE(captures_->has(0));
  set(5);
  captures_->replay(0);
  EXPECT_EQ(y(), 5);
}

TEST_F(CaptureTest, ANotificationEndsItAsWell) {
  Stream view(device(), stream_, nullptr, nullptr);
  OrtSyncNotificationImpl* point = nullptr;
  run(0);
  set(6);
  captures_->run_begins(0);
  EXPECT_TRUE(part());
  ASSERT_EQ(message(view.CreateNotification(&view, &point)), "");
  ASSERT_EQ(message(point->Activate(point)), "");
  ASSERT_EQ(message(point->WaitOnHost(point)), "");
  EXPECT_EQ(y(), 6);
  EXPECT_THROW(captures_->part_begins(stream_), Error);  // the graph has only the part before
  captures_->fail();
  point->Release(point);
  EXPECT_FALSE(captures_->has(0));
  EXPECT_FALSE(run(0));
  EXPECT_TRUE(run(0));
}

TEST_F(CaptureTest, AFailureGivesItUp) {
  run(0);
  captures_->run_begins(0);
  part();
  captures_->fail();
  captures_->run_ends();
  EXPECT_FALSE(captures_->has(0));
  int status = 1;
  check(driver().stream_is_capturing(stream_, &status), "asking");
  EXPECT_EQ(status, 0);
  set(3);
  EXPECT_FALSE(run(0));
  EXPECT_TRUE(run(0));
  EXPECT_EQ(y(), 3);
}

TEST_F(CaptureTest, CopiesFromTheHostAreRefused) {
  Stream view(device(), stream_, nullptr, captures_);
  run(0);
  captures_->run_begins(0);
  std::vector<float> values(10);
  const TestValue from = on_host(values);
  TestValue to{kOnDevice, x_.data, 40};
  const OrtValue* source = from.in();
  OrtValue* target = to.out();
  OrtSyncStream* on = outward(view);
  EXPECT_NE(message(transfer_->CopyTensors(transfer_, &source, &target, &on, 1)).find("IoBinding"), std::string::npos);
  captures_->run_ends();
  EXPECT_FALSE(captures_->has(0));
}

// The host ends failed runs like others. What was captured of them must not stand for the whole run.
TEST_F(CaptureTest, ARunWhoseCopyIsRefusedIsNotKept) {
  Stream view(device(), stream_, nullptr, captures_);
  run(0);
  captures_->run_begins(0);
  EXPECT_TRUE(part());
  std::vector<float> values(kCount);
  TestValue to = on_host(values);
  const OrtValue* source = y_.in();
  OrtValue* target = to.out();
  OrtSyncStream* on = outward(view);
  EXPECT_NE(message(transfer_->CopyTensors(transfer_, &source, &target, &on, 1)).find("IoBinding"), std::string::npos);
  captures_->run_ends();
  EXPECT_FALSE(captures_->has(0));
}

TEST_F(CaptureTest, ARunWithAWaitBetweenItsPartsIsNotKept) {
  Stream view(device(), stream_, nullptr, captures_);
  run(0);
  captures_->run_begins(0);
  EXPECT_TRUE(part());
  ASSERT_EQ(message(view.Flush(&view)), "");
  EXPECT_THROW(captures_->part_begins(stream_), Error);
  captures_->run_ends();
  EXPECT_FALSE(captures_->has(0));
  EXPECT_FALSE(run(0));
  EXPECT_TRUE(run(0));
}

// Other threads release memory meanwhile, which asks streams about their work: a captured one may not be asked.
TEST_F(CaptureTest, OtherThreadsReleaseMemory) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) memory().release(memory().allocate(kCount, nullptr));
  });
  for (int id = 0; id < 100; ++id) {
    run(id);
    EXPECT_TRUE(run(id));
    EXPECT_TRUE(captures_->has(id));
    captures_->release(id);
  }
  done = true;
  other.join();
}

// The host releases what it took during the run, and would give it to others.
TEST_F(CaptureTest, TheGraphOwnsWhatTheRunTook) {
  auto owned = std::make_shared<int>(1);
  run(0);
  const size_t before = memory().statistics().in_use;
  captures_->run_begins(0);
  const Address between = memory().allocate(kCount * sizeof(float), nullptr);
  captures_->took(between);
  captures_->part_begins(stream_);
  captures_->keep(owned);
  check(driver().copy_on_device(between, address(x_), x_.bytes, stream_), "copying");
  check(driver().copy_on_device(address(y_), between, x_.bytes, stream_), "copying");
  EXPECT_TRUE(captures_->keeps_released(between));
  captures_->run_ends();
  EXPECT_EQ(owned.use_count(), 2);
  const Address other = memory().allocate(kCount * sizeof(float), nullptr);
  EXPECT_NE(other, between);
  write(other, std::vector<float>(kCount, -1), stream_);
  set(9);
  captures_->replay(0);
  EXPECT_EQ(y(), 9);
  EXPECT_EQ(read(other, 1, stream_)[0], -1);
  memory().release(other);
  captures_->release(0);
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_EQ(memory().statistics().in_use, before);
  EXPECT_FALSE(captures_->keeps_released(other));
}

}  // namespace
}  // namespace providers::cuda
