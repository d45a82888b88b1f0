// Places of memory: OrtDevice, OrtMemoryInfo, allocators.
#pragma once

#include <cstdint>
#include <string>

#include "engine.h"

namespace retort::python {

// The class OrtDevice. Numbers of types are those of the official package: 0 CPU, 1 GPU, 2 FPGA, 3 NPU, 4 DML's.
struct Device {
  static constexpr int8_t kCpu = 0, kGpu = 1, kFpga = 2, kNpu = 3;

  int8_t type = kCpu;
  int8_t memory = 0;  // OrtDeviceMemoryType
  uint32_t vendor = 0;
  int16_t id = 0;

  bool is_host() const noexcept { return type == kCpu || memory == OrtDeviceMemoryType_HOST_ACCESSIBLE; }
  bool operator==(const Device&) const = default;
};

// The class OrtMemoryInfo.
class MemoryInfo {
 public:
  explicit MemoryInfo(Owned<OrtMemoryInfo> handle) : owned_(std::move(handle)), handle_(owned_.get()) {}
  // A view of an info that the engine owns and never frees.
  explicit MemoryInfo(const OrtMemoryInfo* view) : handle_(view) {}

  const OrtMemoryInfo* get() const noexcept { return handle_; }

 private:
  Owned<OrtMemoryInfo> owned_;
  const OrtMemoryInfo* handle_;
};

// Host memory, made once. Borrowed.
const OrtMemoryInfo* host_memory();

Owned<OrtMemoryInfo> memory_info_of(const Device& device);
// The same, without making one for the host.
class PlaceOf {
 public:
  explicit PlaceOf(const Device& device)
      : owned_(device.type == Device::kCpu ? nullptr : memory_info_of(device)),
        info_(owned_ ? owned_.get() : host_memory()) {}
  const OrtMemoryInfo* get() const noexcept { return info_; }

 private:
  Owned<OrtMemoryInfo> owned_;
  const OrtMemoryInfo* info_;
};
Device device_of(const OrtMemoryInfo* info);

// Where the memory of a tensor is.
const OrtMemoryInfo* memory_of(const OrtValue* value);
// Whether the host can read a tensor.
bool is_on_host(const OrtValue* tensor);

// "Cpu", "Cuda", "Gpu", "Npu"..., as device_name() of the official package gives.
const char* device_name(const Device& device);

// The allocator of a device: the default one for host memory, otherwise the shared one that a registered provider made.
// Borrowed. Throws Misuse(ORT_NOT_FOUND), which lists the devices that have one.
OrtAllocator* allocator_of(const Device& device);
OrtAllocator* allocator_of(const OrtMemoryInfo* info);

}  // namespace retort::python
