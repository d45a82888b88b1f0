// Tests with an implementation of Vulkan's functions, since few machines have a loader.
#include "ep/vulkan.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace retort {
namespace {

struct Told {
  uint32_t version, vendor, device;
  int32_t type;
  const char* name;
  int bus;  ///< -1: the driver does not report it
};

std::vector<Told> told;  // NOLINT: results of the functions below, which have no other parameter
int32_t create_code = 0, enumerate_code = 0;
int instances = 0;
const char* missing = "";

using Function = void (*)();

template <typename T>
void put(void* structure, size_t offset, T value) {
  std::memcpy(static_cast<char*>(structure) + offset, &value, sizeof value);
}

Function entry(void*, const char* name) {
  const std::string_view wanted = name;
  if (wanted == missing) return nullptr;
  if (wanted == "vkCreateInstance") {
    return reinterpret_cast<Function>(+[](const void*, const void*, void** instance) {
      *instance = &instances;
      instances += create_code == 0;
      return create_code;
    });
  }
  if (wanted == "vkDestroyInstance") return reinterpret_cast<Function>(+[](void*, const void*) { --instances; });
  if (wanted == "vkEnumeratePhysicalDevices") {
    return reinterpret_cast<Function>(+[](void*, uint32_t* count, void** devices) {
      *count = std::min(*count, uint32_t(told.size()));
      for (uint32_t i = 0; i < *count; ++i) devices[i] = &told[i];
      return enumerate_code;
    });
  }
  if (wanted == "vkEnumerateDeviceExtensionProperties") {
    return reinterpret_cast<Function>(+[](void* device, const char*, uint32_t* count, void* extensions) {
      *count = 2;
      if (!extensions) return 0;
      std::memset(extensions, 'x', 2 * 260);  // a name without a terminator
      if (static_cast<Told*>(device)->bus >= 0)
        std::strcpy(static_cast<char*>(extensions) + 260, "VK_EXT_pci_bus_info");
      return 0;
    });
  }
  if (wanted != "vkGetPhysicalDeviceProperties2") return nullptr;
  return reinterpret_cast<Function>(+[](void* device, void* properties) {
    const Told& t = *static_cast<Told*>(device);
    put(properties, 16, t.version);
    put(properties, 24, t.vendor);
    put(properties, 28, t.device);
    put(properties, 32, t.type);
    std::memcpy(static_cast<char*>(properties) + 36, t.name, std::strlen(t.name) + 1);
    void* next = nullptr;
    std::memcpy(&next, static_cast<char*>(properties) + 8, sizeof next);
    EXPECT_EQ(next != nullptr, t.bus >= 0);  // only drivers that report it are queried
    if (!next) return;
    for (uint32_t i = 0; i < 4; ++i) put(next, 16 + 4 * i, i == 1 ? uint32_t(t.bus) : 0u);
  });
}

constexpr uint32_t version(uint32_t major, uint32_t minor, uint32_t patch) { return major << 22 | minor << 12 | patch; }

class Vulkan : public testing::Test {
 protected:
  void SetUp() override {
    told = {{version(1, 3, 224), 0x10de, 0x1eb8, 2, "Tesla", 1}, {version(1, 1, 0), 0x1ae0, 0xc0de, 4, "Software", -1}};
    create_code = enumerate_code = instances = 0;
    missing = "";
  }
  void TearDown() override { EXPECT_EQ(instances, 0); }
};

TEST_F(Vulkan, IsAsked) {
  const auto found = ask_vulkan(&entry);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].vendor_id, 0x10deu);
  EXPECT_EQ(found[0].device_id, 0x1eb8u);
  EXPECT_EQ(found[0].name, "Tesla");
  EXPECT_EQ(found[0].type, "discrete");
  EXPECT_EQ(found[0].version, "1.3.224");
  EXPECT_EQ(found[0].bus_id, "0000:01:00.0");
  EXPECT_EQ(found[1].type, "software");
  EXPECT_EQ(found[1].bus_id, std::nullopt);
}

TEST_F(Vulkan, FailuresAreNoDevices) {
  create_code = -9;
  EXPECT_TRUE(ask_vulkan(&entry).empty());
  create_code = 0;
  enumerate_code = -3;
  EXPECT_TRUE(ask_vulkan(&entry).empty());
  enumerate_code = 5;
  EXPECT_EQ(ask_vulkan(&entry).size(), 2u);
  enumerate_code = 0;
  for (const char* name : {"vkCreateInstance", "vkEnumeratePhysicalDevices", "vkGetPhysicalDeviceProperties2"}) {
    missing = name;
    EXPECT_TRUE(ask_vulkan(&entry).empty()) << name;
  }
  missing = "vkEnumerateDeviceExtensionProperties";
  told.erase(told.begin());
  EXPECT_EQ(ask_vulkan(&entry).size(), 1u);
  missing = "";
  told.assign(1000, {0, 1, 2, -7, "many", -1});
  EXPECT_EQ(ask_vulkan(&entry).size(), 64u);
  EXPECT_EQ(ask_vulkan(&entry)[0].type, "other");
}

TEST_F(Vulkan, ADeviceIsListedOnce) {
  using Kind = HardwareDevice::Kind;
  const auto seen = ask_vulkan(&entry);
  // For two devices of one model, the bus address decides; a device without an address is identified by its model.
  std::vector<HardwareDevice> devices{{Kind::npu, 0x10de, 0x1eb8, {}},
                                      {Kind::gpu, 0x10de, 0x1eb8, {{"pci_bus_id", "0000:02:00.0"}}},
                                      {Kind::gpu, 0x10de, 0x1eb8, {{"pci_bus_id", "0000:01:00.0"}}}};
  add_vulkan(devices, seen);
  ASSERT_EQ(devices.size(), 4u);
  EXPECT_EQ(devices[1].metadata.size(), 1u);
  ASSERT_EQ(devices[2].metadata.size(), 4u);
  EXPECT_EQ(devices[2].metadata[1], std::pair(std::string("vulkan_name"), std::string("Tesla")));
  EXPECT_EQ(devices[3].vendor_id, 0x1ae0u);
  // A software device is reported as it is: a plug-in for GPUs rejects a device that calls itself virtual.
  EXPECT_EQ(devices[3].metadata[0].first, "vulkan_name");
  EXPECT_EQ(devices[3].metadata[1], std::pair(std::string("vulkan_type"), std::string("software")));

  devices = {{Kind::gpu, 0x10de, 0x1eb8, {}}};
  add_vulkan(devices, {seen[0], seen[0]});
  EXPECT_EQ(devices.size(), 2u);  // the system lists one of the two devices of that model
}

TEST(VulkanLoader, AMachineWithoutOneHasNoDevices) {
  const std::vector<VulkanDevice> found = find_vulkan();
  const bool installed = dlopen("libvulkan.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
  EXPECT_TRUE(installed || found.empty());
  for (const VulkanDevice& device : found) EXPECT_FALSE(device.name.empty());
}

}  // namespace
}  // namespace retort
