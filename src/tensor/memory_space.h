// Identity of a kind of memory: what OrtMemoryInfo means. Two tensors live in the same space when their spaces compare
// equal.
#pragma once
#include <cstdint>
#include <string>

namespace retort {

/// Numbers equal OrtMemoryInfoDeviceType.
enum class DeviceType : int8_t { cpu = 0, gpu = 1, fpga = 2, npu = 3 };
/// Numbers equal OrtDeviceMemoryType: memory of the device itself, or host memory that the device can reach.
enum class MemoryKind : int8_t { device = 0, host_accessible = 5 };

struct MemorySpace {
  DeviceType device = DeviceType::cpu;
  MemoryKind kind = MemoryKind::device;
  uint32_t vendor_id = 0;
  int32_t device_id = 0;
  uint32_t alignment = 0;  ///< 0: the allocator's own
  bool operator==(const MemorySpace&) const = default;
  bool host_readable() const { return device == DeviceType::cpu || kind == MemoryKind::host_accessible; }
  /// Whether what lies there can be read where `wanted` is asked for: all host memory is one, alignment is the
  /// allocator's business.
  bool serves(const MemorySpace& wanted) const {
    if (wanted.host_readable()) return host_readable();
    return device == wanted.device && kind == wanted.kind && vendor_id == wanted.vendor_id &&
           device_id == wanted.device_id;
  }
  /// Whether a reader who asks for `wanted` can be given what lies here as it is: besides its own memory, a device reads
  /// memory of the host that was made for it.
  bool readable_as(const MemorySpace& wanted) const {
    const bool made_for_it = kind == MemoryKind::host_accessible && device == wanted.device &&
                             vendor_id == wanted.vendor_id && device_id == wanted.device_id;
    return made_for_it || serves(wanted);
  }
};
/// "the CPU", "GPU 0 (vendor 0x10de)", for messages.
std::string to_string(const MemorySpace& space);

}  // namespace retort
