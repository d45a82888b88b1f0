// Streams, notifications and copies, as the host uses them.
#include "stream_testing.h"

namespace providers::cuda {
namespace {

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

}  // namespace
}  // namespace providers::cuda
