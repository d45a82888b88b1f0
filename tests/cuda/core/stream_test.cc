// Streams, notifications, copies and captured runs, as the host uses them.
#include "cuda/core/transfer.h"

#include <atomic>
#include <thread>

#include "host_testing.h"

namespace providers::cuda {
namespace {

constexpr size_t kCount = size_t(1) << 20;

class StreamTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (find_driver()) transfer_ = make_transfer();
  }
  void TearDown() override {
    if (transfer_) transfer_->Release(transfer_);
    CudaTest::TearDown();
  }
  void copy(const TestValue& from, TestValue& to, Stream* stream) {
    const OrtValue* source = from.in();
    OrtValue* target = to.out();
    OrtSyncStream* on = stream ? outward(*stream) : nullptr;
    EXPECT_EQ(message(transfer_->CopyTensors(transfer_, &source, &target, stream ? &on : nullptr, 1)), "");
  }
  static TestValue on_device(size_t bytes) {
    return {kOnDevice, reinterpret_cast<void*>(memory().allocate(bytes, nullptr)), bytes};
  }
  static TestValue on_host(std::vector<float>& values) { return {{}, values.data(), values.size() * sizeof(float)}; }
  static void release(const TestValue& value) { memory().release(reinterpret_cast<Address>(value.data)); }
  static void keep_busy(const Stream& stream, const TestValue& value) {
    for (int i = 0; i < 20; ++i)
      check(driver().fill_words(reinterpret_cast<Address>(value.data), 0x3f800000, value.bytes / 4, stream.handle()),
            "filling");
  }

  OrtDataTransferImpl* transfer_ = nullptr;
};

TEST_F(StreamTest, TheHandleIsThatOfCuda) {
  auto* const stream = new Stream(device());
  EXPECT_EQ(stream->GetHandle(stream), stream->handle());
  EXPECT_EQ(message(stream->Flush(stream)), "");
  EXPECT_EQ(message(stream->OnSessionRunEnd(stream)), "");
  EXPECT_EQ(Stream::of(outward(*stream)), stream);
  stream->Release(stream);
}

TEST_F(StreamTest, OnlyOwnStreamsAreTaken) {
  OrtSyncStreamImpl other{};
  EXPECT_EQ(Stream::of(nullptr), nullptr);
  EXPECT_THROW(Stream::of(reinterpret_cast<OrtSyncStream*>(&other)), Error);
}

TEST_F(StreamTest, AStreamOfTheApplicationStays) {
  const CUstream theirs = begin_stream(device());
  {
    const Stream view(device(), theirs, nullptr, nullptr);
    EXPECT_EQ(view.handle(), theirs);
  }
  EXPECT_EQ(driver().stream_query(theirs), 0);
  end_stream(device(), theirs);
}

// An application may release its stream before the session that was given it, as Python does with local variables.
TEST_F(StreamTest, AStreamLivesAsLongAsItsUsers) {
  auto* const theirs = new Stream(device());
  const CUstream handle = theirs->handle();
  auto view = std::make_unique<Stream>(device(), handle, OwnedStream::find(handle), nullptr);
  theirs->Release(theirs);
  const Address block = memory().allocate(kCount, handle);
  EXPECT_EQ(driver().fill_bytes(block, 1, kCount, handle), 0);
  memory().release(block);  // asks all streams about their work
  EXPECT_NO_THROW(view->wait());
}

TEST_F(StreamTest, NotificationsOrderStreams) {
  Stream one(device()), two(device());
  const TestValue a = on_device(kCount * sizeof(float)), b = on_device(kCount * sizeof(float));
  OrtSyncNotificationImpl* point = nullptr;
  ASSERT_EQ(message(one.CreateNotification(&one, &point)), "");
  for (int i = 0; i < 3; ++i) {  // it may be activated again
    check(driver().fill_words(reinterpret_cast<Address>(a.data), 0, kCount, one.handle()), "filling");
    keep_busy(one, a);
    ASSERT_EQ(message(point->Activate(point)), "");
    ASSERT_EQ(message(point->WaitOnDevice(point, outward(two))), "");
    check(driver().copy_on_device(reinterpret_cast<Address>(b.data), reinterpret_cast<Address>(a.data), b.bytes,
                                  two.handle()),
          "copying");
    EXPECT_EQ(read(reinterpret_cast<Address>(b.data), kCount, two.handle()), std::vector<float>(kCount, 1));
  }
  keep_busy(one, a);
  ASSERT_EQ(message(point->Activate(point)), "");
  ASSERT_EQ(message(point->WaitOnHost(point)), "");
  EXPECT_EQ(driver().stream_query(one.handle()), 0);
  EXPECT_NE(message(point->WaitOnDevice(point, nullptr)), "");
  point->Release(point);
  release(a);
  release(b);
}

TEST_F(StreamTest, WhatCanBeCopied) {
  const auto can = [&](const TestPlace& from, const TestPlace& to) {
    return transfer_->CanCopy(transfer_, reinterpret_cast<const OrtMemoryDevice*>(&from),
                              reinterpret_cast<const OrtMemoryDevice*>(&to));
  };
  const TestPlace host;
  TestPlace other = kOnDevice;
  other.vendor = 0x1002;
  EXPECT_TRUE(can(host, kOnDevice));
  EXPECT_TRUE(can(kOnDevice, host));
  EXPECT_TRUE(can(kOnDevice, kOnDevice));
  EXPECT_TRUE(can(kOnDevice, kOnSecond));
  EXPECT_TRUE(can(kPinned, kOnDevice));
  EXPECT_TRUE(can(kPinned, host));
  EXPECT_FALSE(can(host, host));
  EXPECT_FALSE(can(host, other));
  EXPECT_FALSE(can(other, kOnDevice));
}

// Ordinary memory of the host may change as soon as the call returns.
TEST_F(StreamTest, OrdinaryMemoryIsReadBeforeTheCallReturns) {
  Stream stream(device());
  for (const size_t count : {size_t(1), size_t(1000), size_t(16384), size_t(16385), kCount}) {
    std::vector<float> values(count, 5), back(count);
    TestValue there = on_device(count * sizeof(float)), busy = on_device(kCount * sizeof(float));
    keep_busy(stream, busy);
    copy(on_host(values), there, &stream);
    std::fill(values.begin(), values.end(), 6.0f);
    TestValue result = on_host(back);
    copy(there, result, &stream);
    ASSERT_EQ(message(stream.Flush(&stream)), "");
    EXPECT_EQ(back, std::vector<float>(count, 5)) << count;
    release(there);
    release(busy);
  }
}

TEST_F(StreamTest, CopiesWithoutAStreamAreDone) {
  std::vector<float> values(kCount, 3), back(kCount);
  TestValue there = on_device(kCount * sizeof(float)), second = on_device(kCount * sizeof(float));
  copy(on_host(values), there, nullptr);
  copy(there, second, nullptr);
  TestValue result = on_host(back);
  copy(second, result, nullptr);
  EXPECT_EQ(back, values);
  release(there);
  release(second);
}

TEST_F(StreamTest, PinnedMemory) {
  Stream stream(device());
  const size_t bytes = kCount * sizeof(float);
  TestValue pinned{kPinned, memory().allocate_pinned(bytes), bytes}, there = on_device(bytes);
  auto* const values = static_cast<float*>(pinned.data);
  std::fill_n(values, kCount, 4.0f);
  copy(pinned, there, &stream);
  ASSERT_EQ(message(stream.Flush(&stream)), "");
  std::fill_n(values, kCount, 0.0f);
  copy(there, pinned, &stream);
  std::vector<float> back(kCount);
  TestValue result = on_host(back);
  copy(pinned, result, &stream);  // between two kinds of host memory: the stream's work comes first
  EXPECT_EQ(back, std::vector<float>(kCount, 4));
  memory().release_pinned(pinned.data);
  release(there);
}

TEST_F(StreamTest, DevicesCopyToEachOther) {
  if (Device::count() < 2) GTEST_SKIP() << "one device";
  Device& second = Device::get(1);
  std::vector<float> values(kCount, 8), back(kCount);
  TestValue here = on_device(kCount * sizeof(float));
  TestValue there{kOnSecond, reinterpret_cast<void*>(second.memory().allocate(here.bytes, nullptr)), here.bytes};
  copy(on_host(values), here, nullptr);
  copy(here, there, nullptr);
  TestValue result = on_host(back);
  copy(there, result, nullptr);
  EXPECT_EQ(back, values);
  second.memory().release(reinterpret_cast<Address>(there.data));
  release(here);
}

TEST_F(StreamTest, WrongCopies) {
  std::vector<float> values(100), fewer(50);
  const TestValue from = on_host(values);
  TestValue to = on_host(fewer);
  const OrtValue* source = from.in();
  OrtValue* target = to.out();
  EXPECT_NE(message(transfer_->CopyTensors(transfer_, &source, &target, nullptr, 1)).find("400 bytes is copied to one"),
            std::string::npos);
  TestValue nothing{kOnDevice, nullptr, 0};
  copy(TestValue{{}, nullptr, 0}, nothing, nullptr);
}

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
