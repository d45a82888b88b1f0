// The library's entry points, and the devices that it offers.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "allocator.h"
#include "ep.h"
#include "memory.h"
#include "transfer.h"

namespace providers::cuda {
namespace {

constexpr uint32_t kOldestHost = 24;  ///< 1.24: the first whose hosts take kernels for copies
constexpr const char* kDeviceKey = "cuda_device_id";

/// The device numbers that the hardware's vendor gives are not known to CUDA.
constexpr uint32_t kUnknownModel = 0;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), small_letter);
  return text;
}

using KeyValues = Owned<OrtKeyValuePairs>;
KeyValues make_pairs(const std::map<std::string, std::string>& entries) {
  OrtKeyValuePairs* made = nullptr;
  api().CreateKeyValuePairs(&made);
  KeyValues pairs(made, api().ReleaseKeyValuePairs);
  for (const auto& [key, value] : entries) api().AddKeyValuePair(made, key.c_str(), value.c_str());
  return pairs;
}

std::string architecture_text(const Device& device) {
  return text(device.architecture() / 10, ".", device.architecture() % 10);
}

class Factory : public OrtEpFactory {
 public:
  explicit Factory(const OrtLogger* log) : OrtEpFactory{}, log_(log) {
    set_functions();
    set_memory_functions();
    const int count = Device::count();
    if (count == 0)
      warn(log,
           text(kName, ": no CUDA device is offered: ", find_driver() ? "the driver has none." : driver_missing()));
    for (int i = 0; i < count; ++i)
      infos_.push_back({make_info("Cuda", i, OrtDeviceMemoryType_DEFAULT),
                        make_info("CudaPinned", i, OrtDeviceMemoryType_HOST_ACCESSIBLE)});
  }

 private:
  using Info = Owned<OrtMemoryInfo>;
  struct Infos {
    Info memory, pinned;
  };

  static Factory& own(OrtEpFactory* f) { return *static_cast<Factory*>(f); }

  static Info make_info(const char* name, int device, OrtDeviceMemoryType kind) {
    OrtMemoryInfo* info = nullptr;
    check(api().CreateMemoryInfo_V2(name, OrtMemoryInfoDeviceType_GPU, kNvidia, device, kind, 0, OrtDeviceAllocator,
                                    &info));
    return Info(info, api().ReleaseMemoryInfo);
  }

  void set_functions() {
    ort_version_supported = ORT_API_VERSION;
    OrtEpFactory::GetName = [](const OrtEpFactory*) noexcept { return kName; };
    OrtEpFactory::GetVendor = [](const OrtEpFactory*) noexcept { return "NVIDIA"; };
    OrtEpFactory::GetVendorId = [](const OrtEpFactory*) noexcept { return kNvidia; };
    OrtEpFactory::GetVersion = [](const OrtEpFactory*) noexcept { return "0.1.0"; };
    OrtEpFactory::GetSupportedDevices = [](OrtEpFactory* f, const OrtHardwareDevice* const* hardware, size_t count,
                                           OrtEpDevice** made, size_t room, size_t* number) noexcept {
      *number = 0;
      return entry([&] { own(f).offer({hardware, hardware + count}, made, room, *number); });
    };
    OrtEpFactory::CreateEp = [](OrtEpFactory* f, const OrtHardwareDevice* const*,
                                const OrtKeyValuePairs* const* metadata, size_t count, const OrtSessionOptions* options,
                                const OrtLogger* log, OrtEp** made) noexcept {
      *made = nullptr;
      return entry([&] { *made = own(f).make_ep(metadata, count, options, log); });
    };
    OrtEpFactory::ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Ep*>(ep); };
    OrtEpFactory::IsStreamAware = [](const OrtEpFactory*) noexcept { return true; };
    // For streams of applications; the provider makes those of sessions.
    OrtEpFactory::CreateSyncStreamForDevice = [](OrtEpFactory*, const OrtMemoryDevice* where, const OrtKeyValuePairs*,
                                                 OrtSyncStreamImpl** made) noexcept {
      *made = nullptr;
      return entry([&] { *made = new Stream(Device::get(int(ep_api().MemoryDevice_GetDeviceId(where)))); });
    };
  }

  void set_memory_functions() {
    OrtEpFactory::CreateAllocator = [](OrtEpFactory* f, const OrtMemoryInfo* info, const OrtKeyValuePairs*,
                                       OrtAllocator** made) noexcept {
      *made = nullptr;
      return entry([&] {
        // The host may release its `info`, so an own one for the same memory is used.
        const Place place = place_of(ep_api().MemoryInfo_GetMemoryDevice(info));
        const Infos& infos = own(f).infos_of(place.device);
        *made = make_allocator((place.on_device() ? infos.memory : infos.pinned).get(), nullptr);
      });
    };
    OrtEpFactory::ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* a) noexcept { release_allocator(a); };
    OrtEpFactory::CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** made) noexcept {
      *made = nullptr;
      return entry([&] { *made = make_transfer(); });
    };
    OrtEpFactory::GetDeviceMemoryCapacity = [](OrtEpFactory*, const OrtEpDevice* device, OrtDeviceMemoryType type,
                                               size_t* total, size_t* available) noexcept {
      return entry([&] { tell_capacity(device, type, total, available); });
    };
  }

  const Infos& infos_of(int device) const {
    if (device < 0 || size_t(device) >= infos_.size())
      throw Error(text(kName, ": there is no memory of CUDA device ", device), ORT_INVALID_ARGUMENT);
    return infos_[size_t(device)];
  }

  static int number_of(const OrtKeyValuePairs* metadata) {
    const char* const number = metadata ? api().GetKeyValue(metadata, kDeviceKey) : nullptr;
    if (!number) throw Error(text(kName, ": the device has no entry ", kDeviceKey, "; use one of GetEpDevices"));
    return std::atoi(number);
  }

  static void tell_capacity(const OrtEpDevice* device, OrtDeviceMemoryType type, size_t* total, size_t* available) {
    if (type == OrtDeviceMemoryType_HOST_ACCESSIBLE) {
      const size_t page = size_t(sysconf(_SC_PAGESIZE));
      if (total) *total = size_t(sysconf(_SC_PHYS_PAGES)) * page;
      if (available) *available = size_t(sysconf(_SC_AVPHYS_PAGES)) * page;
      return;
    }
    const Device& cuda = Device::get(number_of(api().EpDevice_EpMetadata(device)));
    if (total) *total = cuda.total_bytes();
    if (available) *available = cuda.available_bytes();
  }

  void offer(const std::vector<const OrtHardwareDevice*>& hardware, OrtEpDevice** made, size_t room, size_t& number);
  const OrtHardwareDevice* hardware_of(const Device& device, const std::vector<const OrtHardwareDevice*>& all,
                                       std::set<const OrtHardwareDevice*>& used);
  Ep* make_ep(const OrtKeyValuePairs* const* metadata, size_t count, const OrtSessionOptions* options,
              const OrtLogger* log) const;

  const OrtLogger* const log_;
  std::vector<Infos> infos_;                     ///< by device
  std::vector<Owned<OrtHardwareDevice>> found_;  ///< devices that the host did not find
};

/// The host's device with the same place on the bus; else the next NVIDIA device whose place it does not know; else a
/// new one, since the host sees no hardware in some containers and virtual machines.
const OrtHardwareDevice* Factory::hardware_of(const Device& device, const std::vector<const OrtHardwareDevice*>& all,
                                              std::set<const OrtHardwareDevice*>& used) {
  for (const bool by_bus : {true, false}) {
    for (const OrtHardwareDevice* one : all) {
      if (used.count(one) || api().HardwareDevice_Type(one) != OrtHardwareDeviceType_GPU ||
          api().HardwareDevice_VendorId(one) != kNvidia)
        continue;
      const char* const bus = api().GetKeyValue(api().HardwareDevice_Metadata(one), "pci_bus_id");
      if (by_bus ? bus && lower(bus) == device.bus_id() : !bus) return one;
    }
  }
  const KeyValues metadata = make_pairs(
      {{"pci_bus_id", device.bus_id()}, {"Discrete", "1"}, {"Description", device.name()}, {"Source", kName}});
  OrtHardwareDevice* made = nullptr;
  check(ep_api().CreateHardwareDevice(OrtHardwareDeviceType_GPU, kNvidia, kUnknownModel, "NVIDIA", metadata.get(),
                                      &made));
  found_.emplace_back(made, ep_api().ReleaseHardwareDevice);
  return made;
}

void Factory::offer(const std::vector<const OrtHardwareDevice*>& hardware, OrtEpDevice** made, size_t room,
                    size_t& number) {
  std::set<const OrtHardwareDevice*> used;
  for (int i = 0; i < int(infos_.size()) && number < room; ++i) {
    const Device& device = Device::get(i);
    const OrtHardwareDevice* const one = hardware_of(device, hardware, used);
    used.insert(one);
    const KeyValues metadata = make_pairs({{kDeviceKey, std::to_string(i)},
                                           {"cuda_device_name", device.name()},
                                           {"cuda_compute_capability", architecture_text(device)},
                                           {"pci_bus_id", device.bus_id()},
                                           {"memory_bytes", std::to_string(device.total_bytes())}});
    const KeyValues options = make_pairs({{"device_id", std::to_string(i)}});
    check(ep_api().CreateEpDevice(this, one, metadata.get(), options.get(), &made[number]));
    OrtEpDevice* const offered = made[number++];
    check(ep_api().EpDevice_AddAllocatorInfo(offered, infos_[size_t(i)].memory.get()));
    check(ep_api().EpDevice_AddAllocatorInfo(offered, infos_[size_t(i)].pinned.get()));
    tell(log_, text(kName, ": CUDA device ", i, " is ", device.name(), ", compute capability ",
                    architecture_text(device), ", ", device.total_bytes() >> 20, " MiB"));
  }
}

Ep* Factory::make_ep(const OrtKeyValuePairs* const* metadata, size_t count, const OrtSessionOptions* options,
                     const OrtLogger* log) const {
  if (count != 1)
    throw Error(text(kName, ": a session uses one device, but ", count, " were given; give one"), ORT_INVALID_ARGUMENT);
  const int number = number_of(metadata[0]);
  SessionOptions read = read_options(options, log);
  if (read.device >= 0 && read.device != number)
    throw Error(
        text(kName, ": option 'device_id' is ", read.device, ", but the session was given the device of number ",
             number, "; leave the option out, or choose the other device"),
        ORT_INVALID_ARGUMENT);
  const Infos& infos = infos_of(number);
  return new Ep(Device::get(number), std::move(read), infos.memory.get(), infos.pinned.get(), log);
}

/// The newest interface that both sides know; null if the host is too old.
const OrtApi* newest_api(const OrtApiBase& base) {
  const std::string version = base.GetVersionString();  // "1.32.0"
  const size_t dot = version.find('.');
  const uint32_t minor = dot == std::string::npos ? 0 : uint32_t(std::atoi(version.c_str() + dot + 1));
  return minor < kOldestHost ? nullptr : base.GetApi(std::min<uint32_t>(minor, ORT_API_VERSION));
}

}  // namespace
}  // namespace providers::cuda

using namespace providers;
using namespace providers::cuda;

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base,
                                                                    const OrtLogger* log, OrtEpFactory** factories,
                                                                    size_t room, size_t* count) {
  *count = 0;
  const OrtApi* const newest = newest_api(*base);
  if (!newest) {  // version 1 suffices to report this
    const OrtApi* const oldest = base->GetApi(1);
    const std::string why = text(kName, " needs a host with the interface of ONNX Runtime 1.", kOldestHost,
                                 " or newer; this one is ", base->GetVersionString());
    return oldest ? oldest->CreateStatus(ORT_NOT_IMPLEMENTED, why.c_str()) : nullptr;
  }
  host() = {newest, newest->GetEpApi()};
  return entry([&] {
    if (room < 1) throw Error(text(kName, ": the host has no room for a factory"), ORT_INVALID_ARGUMENT);
    factories[0] = new Factory(log);
    *count = 1;
  });
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}
}
