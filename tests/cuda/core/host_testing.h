// A host that consists of a few functions, for tests of the provider's core without an engine.
#pragma once
#include <gtest/gtest.h>

#include <vector>

#include "cuda/core/memory.h"
#include "cuda/core/stream.h"

namespace providers::cuda {

/// A place of memory, and a tensor in it; the tests' functions get them in place of the host's.
struct TestPlace {
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  OrtDeviceMemoryType kind = OrtDeviceMemoryType_DEFAULT;
  uint32_t vendor = 0, device = 0;
};
struct TestValue {
  TestPlace place;
  void* data = nullptr;
  size_t bytes = 0;
  const OrtValue* in() const { return reinterpret_cast<const OrtValue*>(this); }
  OrtValue* out() { return reinterpret_cast<OrtValue*>(this); }
};
constexpr TestPlace kOnDevice{OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, kNvidia, 0};
constexpr TestPlace kOnSecond{OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_DEFAULT, kNvidia, 1};
constexpr TestPlace kPinned{OrtMemoryInfoDeviceType_GPU, OrtDeviceMemoryType_HOST_ACCESSIBLE, kNvidia, 0};

/// Makes providers::host() the tests' host.
void use_test_host();
/// Of a status, which it releases; "" for null.
std::string message(OrtStatus* status);
inline OrtSyncStream* outward(Stream& stream) {
  return reinterpret_cast<OrtSyncStream*>(static_cast<OrtSyncStreamImpl*>(&stream));
}

/// Tests on the first device, whose memory begins and ends without anything in use.
class CudaTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_test_host(); }
  void SetUp() override {
    if (!find_driver()) GTEST_SKIP() << driver_missing();
    device().memory().trim();
    before_ = device().memory().statistics();
  }
  void TearDown() override {
    if (!find_driver()) return;
    EXPECT_EQ(device().memory().statistics().in_use, before_.in_use);
    device().memory().limit(0);
  }
  static Device& device() { return Device::get(0); }
  static Memory& memory() { return device().memory(); }
  /// The elements at an address, after all work of the stream.
  static std::vector<float> read(Address address, size_t count, CUstream stream) {
    std::vector<float> values(count);
    check(driver().copy_to_host(values.data(), address, count * sizeof(float), stream), "reading");
    check(driver().stream_synchronize(stream), "waiting");
    return values;
  }
  static void write(Address address, const std::vector<float>& values, CUstream stream) {
    check(driver().copy_to_device(address, values.data(), values.size() * sizeof(float), stream), "writing");
  }

  MemoryStatistics before_;
};

}  // namespace providers::cuda
