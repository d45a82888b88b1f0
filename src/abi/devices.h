// Devices: the hardware of this machine, and the providers that drive it.
#pragma once
#include <string>

#include "abi/key_values.h"
#include "abi/options.h"

struct OrtHardwareDevice : retort::abi::Handle<retort::abi::tag_of("hwde")> {
  OrtHardwareDeviceType type = OrtHardwareDeviceType_CPU;
  uint32_t vendor_id = 0, device_id = 0;  ///< of the PCI lists; processors have no device id
  std::string vendor;
  OrtKeyValuePairs metadata;
};

struct OrtEpDevice : retort::abi::Handle<retort::abi::tag_of("epde")> {
  std::string name, vendor;
  OrtKeyValuePairs metadata, options;
  const OrtHardwareDevice* hardware = nullptr;
};

struct OrtDeviceEpIncompatibilityDetails : retort::abi::Handle<retort::abi::tag_of("epin")> {};

namespace retort {
struct Model;
}

namespace retort::abi {

/// The entry of an environment's configuration that declares devices (ep/hardware.h).
inline constexpr const char* kVirtualDevices = "retort.virtual_devices";
/// "1": Vulkan is asked for devices, too.
inline constexpr const char* kDiscoverVulkan = "retort.discover_vulkan";

/// The CPU provider on this machine's processor: the only device without plug-ins. Lives as long as the library.
const OrtEpDevice& cpu_device();

/// Whether the providers that the options ask for can run the model; a caller's delegate is asked here. Throws what
/// ends the creation of the session.
void choose_devices(const OrtSessionOptions& options, const Model& model);
/// The provider that comes first for sessions of these options, before there is a model; a delegate is told nothing of one.
std::string first_provider(const OrtSessionOptions& options);

}  // namespace retort::abi
