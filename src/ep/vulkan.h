// What Vulkan's loader says of the GPUs here. Asked only when a program wants it: drivers are loaded into the process for
// it, and the official library does not ask.
#pragma once
#include <optional>

#include "ep/hardware.h"

namespace retort {

struct VulkanDevice {
  uint32_t vendor_id = 0, device_id = 0;
  std::string name, type,
      version;  ///< type: discrete, integrated, virtual, software or other; of the interface: "1.3.0"
  std::optional<std::string> bus_id;  ///< "0000:01:00.0", where the driver tells
};

/// vkGetInstanceProcAddr.
using VulkanEntry = void (*(*)(void* instance, const char* name))();

/// What is behind that function; nothing where the loader or its drivers fail.
std::vector<VulkanDevice> ask_vulkan(VulkanEntry entry);
/// Likewise of the system's loader, libvulkan.so.1, which stays loaded; nothing where there is none.
std::vector<VulkanDevice> find_vulkan();

/// Adds what Vulkan knows to the metadata of devices that the system lists, too, and the devices that it does not list.
void add_vulkan(std::vector<HardwareDevice>& devices, const std::vector<VulkanDevice>& seen);

}  // namespace retort
