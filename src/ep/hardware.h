// The devices of a machine that models could run on besides its processor: what the system says of them, and what a
// program declares.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retort {

/// A GPU or NPU, or a processor that somebody declares.
struct HardwareDevice {
  enum class Kind { cpu, gpu, npu };  ///< numbers equal OrtHardwareDeviceType
  Kind kind = Kind::gpu;
  uint32_t vendor_id = 0, device_id = 0;                      ///< of the PCI lists
  std::vector<std::pair<std::string, std::string>> metadata;  ///< in the order in which it is told
};

/// What the system's tables list below `root`, "/sys": NPUs, then GPUs, by their numbers. Entries that cannot be read or
/// understood are no devices. Does not throw but for lack of memory.
std::vector<HardwareDevice> find_hardware(const std::string& root);

/// Devices that a program declares: "gpu:0x10de:0x1eb8,npu:0x8086:0x7d1d", kind, vendor and device of each; empty text:
/// none. Their metadata says is_virtual=1. Throws invalid_argument.
std::vector<HardwareDevice> virtual_devices(std::string_view text);

}  // namespace retort
