#include "ep/vulkan.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace retort {
namespace {

// The structures of Vulkan's binary interface that are needed; its specification fixes their layout.
constexpr int32_t kApplicationInfo = 0, kInstanceInfo = 1, kProperties2 = 1000059001, kBusInfo = 1000212000;
constexpr uint32_t kVersion11 = 1u << 22 | 1u << 12;
constexpr uint32_t kMostDevices = 64, kMostExtensions = 4096;
constexpr uint32_t kUntold = ~0u;

struct ApplicationInfo {
  int32_t type = kApplicationInfo;
  const void* next = nullptr;
  const char* application = "retort";
  uint32_t application_version = 0;
  const char* engine = nullptr;
  uint32_t engine_version = 0;
  uint32_t api_version = kVersion11;
};
struct InstanceInfo {
  int32_t type = kInstanceInfo;
  const void* next = nullptr;
  uint32_t flags = 0;
  const ApplicationInfo* application = nullptr;
  uint32_t layers = 0;
  const char* const* layer_names = nullptr;
  uint32_t extensions = 0;
  const char* const* extension_names = nullptr;
};
struct BusInfo {
  int32_t type = kBusInfo;
  void* next = nullptr;
  uint32_t domain = kUntold, bus = kUntold, device = kUntold, function = kUntold;
};
struct Properties {
  int32_t type = kProperties2;
  void* next = nullptr;
  uint32_t api_version = 0, driver_version = 0, vendor_id = 0, device_id = 0;
  int32_t device_type = 0;
  char name[256] = {};
  alignas(8) std::byte rest[1024] = {};  // limits and more: 548 bytes
};
struct Extension {
  char name[256];
  uint32_t version;
};
static_assert(offsetof(Properties, api_version) == 16 && offsetof(Properties, name) == 36);

using CreateInstance = int32_t (*)(const InstanceInfo*, const void*, void**);
using DestroyInstance = void (*)(void*, const void*);
using EnumerateDevices = int32_t (*)(void*, uint32_t*, void**);
using EnumerateExtensions = int32_t (*)(void*, const char*, uint32_t*, Extension*);
using GetProperties = void (*)(void*, Properties*);

template <typename F>
F function_of(VulkanEntry entry, void* instance, const char* name) {
  return reinterpret_cast<F>(entry(instance, name));
}

/// Whether the driver can report the device's address on the bus; some log errors for unknown queries.
bool tells_bus(EnumerateExtensions enumerate, void* device) {
  constexpr std::string_view kBus = "VK_EXT_pci_bus_info";
  uint32_t count = 0;
  if (!enumerate || enumerate(device, nullptr, &count, nullptr) != 0 || count > kMostExtensions) return false;
  std::vector<Extension> all(count);
  if (enumerate(device, nullptr, &count, all.data()) != 0) return false;
  return std::any_of(all.begin(), all.end(), [&](const Extension& e) {
    return std::string_view(e.name, strnlen(e.name, sizeof e.name)) == kBus;
  });
}

VulkanDevice device_of(GetProperties get, void* device, bool with_bus) {
  constexpr const char* kTypes[] = {"other", "integrated", "discrete", "virtual", "software"};
  BusInfo bus;
  Properties told;
  if (with_bus) told.next = &bus;
  get(device, &told);
  VulkanDevice made;
  made.vendor_id = told.vendor_id;
  made.device_id = told.device_id;
  made.name.assign(told.name, strnlen(told.name, sizeof told.name));
  made.type = kTypes[told.device_type >= 0 && told.device_type <= 4 ? told.device_type : 0];
  made.version =
      cat("{}.{}.{}", told.api_version >> 22 & 0x7f, told.api_version >> 12 & 0x3ff, told.api_version & 0xfff);
  if (bus.domain != kUntold)
    made.bus_id = cat("{:04x}:{:02x}:{:02x}.{:x}", bus.domain, bus.bus, bus.device, bus.function);
  return made;
}

std::string_view metadata_of(const HardwareDevice& device, std::string_view key) {
  const auto at = std::find_if(device.metadata.begin(), device.metadata.end(), [&](auto& m) { return m.first == key; });
  return at == device.metadata.end() ? std::string_view() : at->second;
}

/// Whether both are the same GPU: at the same bus address, or, if one of them does not report it, of the same model.
bool same_device(const HardwareDevice& listed, const VulkanDevice& seen) {
  const std::string_view bus_id = metadata_of(listed, "pci_bus_id");
  if (seen.bus_id && !bus_id.empty()) return bus_id == *seen.bus_id;
  return listed.vendor_id == seen.vendor_id && listed.device_id == seen.device_id;
}

}  // namespace

std::vector<VulkanDevice> ask_vulkan(VulkanEntry entry) {
  const auto create = function_of<CreateInstance>(entry, nullptr, "vkCreateInstance");
  const ApplicationInfo application;
  InstanceInfo info;
  info.application = &application;
  void* instance = nullptr;
  if (!create || create(&info, nullptr, &instance) != 0) return {};
  const auto enumerate = function_of<EnumerateDevices>(entry, instance, "vkEnumeratePhysicalDevices");
  const auto properties = function_of<GetProperties>(entry, instance, "vkGetPhysicalDeviceProperties2");
  const auto extensions = function_of<EnumerateExtensions>(entry, instance, "vkEnumerateDeviceExtensionProperties");
  void* handles[kMostDevices] = {};
  uint32_t count = kMostDevices;
  std::vector<VulkanDevice> found;
  // 5 (VK_INCOMPLETE): there are more devices.
  if (const int32_t code = enumerate && properties ? enumerate(instance, &count, handles) : -1;
      code == 0 || code == 5) {
    for (uint32_t i = 0; i < std::min(count, kMostDevices); ++i)
      found.push_back(device_of(properties, handles[i], tells_bus(extensions, handles[i])));
  }
  if (const auto destroy = function_of<DestroyInstance>(entry, instance, "vkDestroyInstance"))
    destroy(instance, nullptr);
  return found;
}

std::vector<VulkanDevice> find_vulkan() {
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  void* entry = library ? dlsym(library, "vkGetInstanceProcAddr") : nullptr;
  return entry ? ask_vulkan(reinterpret_cast<VulkanEntry>(entry)) : std::vector<VulkanDevice>();
}

void add_vulkan(std::vector<HardwareDevice>& devices, const std::vector<VulkanDevice>& seen) {
  const size_t listed = devices.size();
  for (const VulkanDevice& gpu : seen) {
    const auto end = devices.begin() + ptrdiff_t(listed);
    auto at = std::find_if(devices.begin(), end, [&](const HardwareDevice& d) {
      return d.kind == HardwareDevice::Kind::gpu && metadata_of(d, "vulkan_name").empty() && same_device(d, gpu);
    });
    if (at == end) {
      HardwareDevice made{HardwareDevice::Kind::gpu, gpu.vendor_id, gpu.device_id, {}};
      if (gpu.bus_id) made.metadata.emplace_back("pci_bus_id", *gpu.bus_id);
      at = devices.insert(devices.end(), std::move(made));
    }
    at->metadata.emplace_back("vulkan_name", gpu.name);
    at->metadata.emplace_back("vulkan_type", gpu.type);
    at->metadata.emplace_back("vulkan_version", gpu.version);
  }
}

}  // namespace retort
