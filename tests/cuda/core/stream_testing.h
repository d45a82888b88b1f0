// Tests that copy values on streams.
#pragma once
#include "cuda/core/transfer.h"
#include "host_testing.h"

namespace providers::cuda {

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

}  // namespace providers::cuda
