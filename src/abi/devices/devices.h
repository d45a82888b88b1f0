// Devices: the hardware of this machine, and the providers that drive it.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "abi/key_values.h"
#include "abi/sessions/options.h"
#include "abi/values/memory_info.h"
#include "ep/provider.h"

struct OrtHardwareDevice : retort::abi::Handle<retort::abi::tag_of("hwde")> {
  OrtHardwareDeviceType type = OrtHardwareDeviceType_CPU;
  uint32_t vendor_id = 0, device_id = 0;  ///< from the PCI lists; processors have no device id
  std::string vendor;
  OrtKeyValuePairs metadata;
};

struct OrtEpDevice : retort::abi::Handle<retort::abi::tag_of("epde")> {
  std::string name, vendor;
  uint32_t vendor_id = 0;  ///< the provider's, from the PCI list; 0: unknown
  OrtKeyValuePairs metadata, options;
  const OrtHardwareDevice* hardware = nullptr;
  std::shared_ptr<retort::ProviderFactory> factory;        ///< null: the CPU
  size_t index = 0;                                        ///< position among the factory's devices
  std::vector<std::shared_ptr<retort::Allocator>> memory;  ///< own memory first, then host memory that it can access
  OrtEpFactory* plugin = nullptr;                          ///< the plug-in's factory; null: not a plug-in's
  std::vector<OrtMemoryInfo> allocators;                   ///< the memories that the plug-in allocates for the device
};

/// A stream for callers and plug-ins: owned, or the stream of a run, which outlives this object.
struct OrtSyncStream : retort::abi::Handle<retort::abi::tag_of("strm")> {
  std::shared_ptr<retort::ProviderFactory> factory;  ///< must outlive the stream
  std::unique_ptr<retort::Stream> own;
  retort::Stream* stream = nullptr;
};

/// Why a provider cannot use a hardware device.
struct OrtDeviceEpIncompatibilityDetails : retort::abi::Handle<retort::abi::tag_of("epin")> {
  uint32_t reasons = OrtDeviceEpIncompatibility_NONE;
  int32_t code = 0;   ///< the provider's own code
  std::string notes;  ///< empty: the provider gives no details
};

namespace retort {
struct Model;
}
struct OrtSession;

namespace retort::abi {

/// The configuration entry of an environment that declares devices (ep/hardware.h).
inline constexpr const char* kVirtualDevices = "retort.virtual_devices";
/// The configuration entry that also finds devices through Vulkan if it is "1".
inline constexpr const char* kDiscoverVulkan = "retort.discover_vulkan";

/// The CPU provider on this machine's processor, which is the only device without plug-ins. Lives as long as the
/// library.
const OrtEpDevice& cpu_device();

/// The hardware that an environment lists, the processor last.
const std::vector<const OrtHardwareDevice*>& hardware_of(const OrtEnv& env);

/// The devices of an environment's providers. Thread-safe.
class EpDevices {
 public:
  /// The CPU's comes first. The array is valid until a provider is added or removed.
  const std::vector<const OrtEpDevice*>& list() const;
  /// Makes the devices of a factory, so that sessions can use its provider, and shares their allocators.
  void add(OrtEnv& env, const std::shared_ptr<ProviderFactory>& factory);
  /// The same for devices that were made already, in the factory's order.
  void add(OrtEnv& env, const std::shared_ptr<ProviderFactory>& factory,
           std::vector<std::unique_ptr<OrtEpDevice>> devices);
  /// Removes a provider's devices, and the allocators that were shared for them.
  void remove(OrtEnv& env, const std::string& provider);
  /// The devices of the provider of that name.
  std::vector<const OrtEpDevice*> of(std::string_view provider) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<OrtEpDevice>> own_;
  std::vector<const OrtEpDevice*> list_{&cpu_device()};
};

/// The providers that the options ask for, except for the CPU, which runs all other nodes. Calls the caller's delegate.
/// `used` becomes their devices. Throws Error if the session cannot be created.
std::vector<std::shared_ptr<Provider>> choose_devices(const EpDevices& devices, const OrtSessionOptions& options,
                                                      const Model& model, std::vector<const OrtEpDevice*>& used);
/// The name of the first provider for sessions of these options, before a model is known; a delegate then gets no
/// description of a model.
std::string first_provider(const EpDevices& devices, const OrtSessionOptions& options);

}  // namespace retort::abi
