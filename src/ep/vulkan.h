// The GPUs that Vulkan's loader reports. Queried only if a program asks for it: it loads drivers into the process, and
// the official library does not do it.
#pragma once
#include <optional>

#include "ep/hardware.h"

namespace retort {

struct VulkanDevice {
  uint32_t vendor_id = 0, device_id = 0;
  std::string name, type,
      version;  ///< type: discrete, integrated, virtual, software or other; version of the interface: "1.3.0"
  std::optional<std::string> bus_id;  ///< "0000:01:00.0", if the driver reports it
};

/// The type of vkGetInstanceProcAddr.
using VulkanEntry = void (*(*)(void* instance, const char* name))();

/// The devices that the function reports; empty if the loader or its drivers fail.
std::vector<VulkanDevice> ask_vulkan(VulkanEntry entry);
/// The same for the system's loader, libvulkan.so.1, which stays loaded; empty if there is none.
std::vector<VulkanDevice> find_vulkan();

/// Adds Vulkan's information to the metadata of devices that the system lists, and adds devices that it does not list.
void add_vulkan(std::vector<HardwareDevice>& devices, const std::vector<VulkanDevice>& seen);

}  // namespace retort
