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
  uint32_t vendor_id = 0, device_id = 0;  ///< of the PCI lists; processors have no device id
  std::string vendor;
  OrtKeyValuePairs metadata;
};

struct OrtEpDevice : retort::abi::Handle<retort::abi::tag_of("epde")> {
  std::string name, vendor;
  OrtKeyValuePairs metadata, options;
  const OrtHardwareDevice* hardware = nullptr;
  std::shared_ptr<retort::ProviderFactory> factory;        ///< null: the CPU
  size_t index = 0;                                        ///< among the factory's devices
  std::vector<std::shared_ptr<retort::Allocator>> memory;  ///< its own first; then memory of the host that it can reach
  OrtEpFactory* plugin = nullptr;                          ///< that made it; null: no plug-in
  std::vector<OrtMemoryInfo> allocators;                   ///< that a plug-in has for it
};

/// A stream for callers and plug-ins: its own, or one of a run, which outlives it.
struct OrtSyncStream : retort::abi::Handle<retort::abi::tag_of("strm")> {
  std::shared_ptr<retort::ProviderFactory> factory;  ///< outlives the stream
  std::unique_ptr<retort::Stream> own;
  retort::Stream* stream = nullptr;
};

/// Why a provider cannot use a piece of hardware.
struct OrtDeviceEpIncompatibilityDetails : retort::abi::Handle<retort::abi::tag_of("epin")> {
  uint32_t reasons = OrtDeviceEpIncompatibility_NONE;
  int32_t code = 0;   ///< of the provider's
  std::string notes;  ///< empty: it says no more
};

namespace retort {
struct Model;
}
struct OrtSession;

namespace retort::abi {

/// The entry of an environment's configuration that declares devices (ep/hardware.h).
inline constexpr const char* kVirtualDevices = "retort.virtual_devices";
/// "1": Vulkan is asked for devices, too.
inline constexpr const char* kDiscoverVulkan = "retort.discover_vulkan";

/// The CPU provider on this machine's processor: the only device without plug-ins. Lives as long as the library.
const OrtEpDevice& cpu_device();

/// The hardware that an environment sees, the processor last.
const std::vector<const OrtHardwareDevice*>& hardware_of(const OrtEnv& env);

/// The providers' devices of an environment. Thread-safe.
class EpDevices {
 public:
  /// The CPU first. The array lives until a provider comes or goes.
  const std::vector<const OrtEpDevice*>& list() const;
  /// Makes devices of a factory's, whose provider sessions can ask for from then on, and shares their allocators.
  void add(OrtEnv& env, const std::shared_ptr<ProviderFactory>& factory);
  /// The same for devices that were made already, in the order of the factory's.
  void add(OrtEnv& env, const std::shared_ptr<ProviderFactory>& factory,
           std::vector<std::unique_ptr<OrtEpDevice>> devices);
  /// Takes a provider's devices away, with the allocators that were shared for them.
  void remove(OrtEnv& env, const std::string& provider);
  /// Those of the provider of that name.
  std::vector<const OrtEpDevice*> of(std::string_view provider) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<OrtEpDevice>> own_;
  std::vector<const OrtEpDevice*> list_{&cpu_device()};
};

/// The providers that the options ask for, without the CPU, which takes what they leave; a caller's delegate is asked here.
/// `used` becomes their devices. Throws what ends the creation of the session.
std::vector<std::shared_ptr<Provider>> choose_devices(const EpDevices& devices, const OrtSessionOptions& options,
                                                      const Model& model, std::vector<const OrtEpDevice*>& used);
/// The provider that comes first for sessions of these options, before there is a model; a delegate is told nothing of one.
std::string first_provider(const EpDevices& devices, const OrtSessionOptions& options);

}  // namespace retort::abi
