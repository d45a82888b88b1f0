#include "tensor/memory_space.h"

#include <array>

#include "base/error.h"

namespace retort {

std::string to_string(const MemorySpace& space) {
  if (space.host_readable()) return space.device == DeviceType::cpu ? "the CPU" : "pinned host memory";
  constexpr std::array<std::string_view, 4> kNames{"CPU", "GPU", "FPGA", "NPU"};
  return cat("{} {} (vendor {:#06x})", kNames[size_t(space.device)], space.device_id, space.vendor_id);
}

}  // namespace retort
