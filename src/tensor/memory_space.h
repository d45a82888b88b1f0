// Identifies a memory, like OrtMemoryInfo. Two tensors are in the same memory if their spaces are equal.
#pragma once
#include <cstdint>
#include <string>

namespace retort {

/// The values are those of OrtMemoryInfoDeviceType.
enum class DeviceType : int8_t { cpu = 0, gpu = 1, fpga = 2, npu = 3 };
/// The values are those of OrtDeviceMemoryType: memory of the device itself, or host memory that the device can access.
enum class MemoryKind : int8_t { device = 0, host_accessible = 5 };

struct MemorySpace {
  DeviceType device = DeviceType::cpu;
  MemoryKind kind = MemoryKind::device;
  uint32_t vendor_id = 0;
  int32_t device_id = 0;
  uint32_t alignment = 0;  ///< 0: that of the allocator
  bool operator==(const MemorySpace&) const = default;
  bool host_readable() const { return device == DeviceType::cpu || kind == MemoryKind::host_accessible; }
  /// Whether data here can be read if `wanted` is requested. All host memory counts as one; alignment is up to the
  /// allocator.
  bool serves(const MemorySpace& wanted) const {
    if (wanted.host_readable()) return host_readable();
    return device == wanted.device && kind == wanted.kind && vendor_id == wanted.vendor_id &&
           device_id == wanted.device_id;
  }
  /// Whether a reader that asks for `wanted` can read data here without a copy: besides its own memory, a device reads
  /// host memory that was allocated for it.
  bool readable_as(const MemorySpace& wanted) const {
    const bool made_for_it = kind == MemoryKind::host_accessible && device == wanted.device &&
                             vendor_id == wanted.vendor_id && device_id == wanted.device_id;
    return made_for_it || serves(wanted);
  }
};
/// "the CPU", "GPU 0 (vendor 0x10de)", for messages.
std::string to_string(const MemorySpace& space);

}  // namespace retort
