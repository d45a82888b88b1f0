// The devices of a machine, besides its processor, that models could run on: those that the system lists, and those
// that a program declares.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retort {

/// A GPU or NPU, or a processor that a program declares.
struct HardwareDevice {
  enum class Kind { cpu, gpu, npu };  ///< the numbers of OrtHardwareDeviceType
  Kind kind = Kind::gpu;
  uint32_t vendor_id = 0, device_id = 0;                      ///< from the PCI lists
  std::vector<std::pair<std::string, std::string>> metadata;  ///< in the order in which callers see it
};

/// The devices that the system's tables list below `root` ("/sys"): NPUs, then GPUs, by their numbers. Entries that
/// cannot be read or parsed are ignored. Throws only if memory is exhausted.
std::vector<HardwareDevice> find_hardware(const std::string& root);

/// Devices that a program declares, each with kind, vendor and device: "gpu:0x10de:0x1eb8,npu:0x8086:0x7d1d"; none for
/// an empty text. Their metadata contain is_virtual=1. Throws invalid_argument.
std::vector<HardwareDevice> virtual_devices(std::string_view text);

}  // namespace retort
