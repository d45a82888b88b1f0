// The library's entry point: two factories, one per device. They differ only in name and memory.
#include <unistd.h>

#include <memory>

#include "context.h"
#include "ep.h"
#include "memory.h"
#include "stream.h"

namespace loopback {
namespace {

constexpr uint32_t kOldestHost = 31;  ///< the oldest version of the host's interface that the provider uses

class Factory : public OrtEpFactory {
 public:
  Factory(const Host& host, int device)
      : OrtEpFactory{},
        host_(host),
        device_(device),
        name_(device ? "loopback" + std::to_string(device + 1) : "loopback") {
    memory_ = make_info(device ? "Loopback2" : "Loopback", OrtDeviceMemoryType_DEFAULT);
    pinned_ = make_info(device ? "Loopback2Pinned" : "LoopbackPinned", OrtDeviceMemoryType_HOST_ACCESSIBLE);
    set_functions();
  }
  ~Factory() {
    host_.api->ReleaseMemoryInfo(memory_);
    host_.api->ReleaseMemoryInfo(pinned_);
  }

 private:
  static Factory& own(OrtEpFactory* f) { return *static_cast<Factory*>(f); }
  static const Factory& own(const OrtEpFactory* f) { return *static_cast<const Factory*>(f); }

  OrtMemoryInfo* make_info(const char* name, OrtDeviceMemoryType kind) const {
    OrtMemoryInfo* info = nullptr;
    check(host_, host_.api->CreateMemoryInfo_V2(name, OrtMemoryInfoDeviceType_GPU, kVendor, device_, kind, 0,
                                                OrtDeviceAllocator, &info));
    return info;
  }

  void set_functions() {
    ort_version_supported = ORT_API_VERSION;
    OrtEpFactory::GetName = [](const OrtEpFactory* f) noexcept { return own(f).name_.c_str(); };
    OrtEpFactory::GetVendor = [](const OrtEpFactory*) noexcept { return "Retort examples"; };
    OrtEpFactory::GetVendorId = [](const OrtEpFactory*) noexcept { return kVendor; };
    OrtEpFactory::GetVersion = [](const OrtEpFactory*) noexcept { return "1.0.0"; };
    OrtEpFactory::GetSupportedDevices = [](OrtEpFactory* f, const OrtHardwareDevice* const* hardware, size_t count,
                                           OrtEpDevice** made, size_t room, size_t* number) noexcept {
      *number = 0;
      return entry(own(f).host_, "GetSupportedDevices", [&] { *number = own(f).offer(hardware, count, made, room); });
    };
    OrtEpFactory::CreateEp = [](OrtEpFactory* f, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*,
                                size_t, const OrtSessionOptions* options, const OrtLogger*, OrtEp** made) noexcept {
      const Factory& self = own(f);
      return entry(self.host_, "CreateEp",
                   [&] { *made = new Ep(self.host_, self.name_.c_str(), self.device_, self.memory_, options); });
    };
    OrtEpFactory::ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Ep*>(ep); };
    set_memory_functions();
    set_stream_functions();
    OrtEpFactory::ValidateCompiledModelCompatibilityInfo = [](OrtEpFactory* f, const OrtHardwareDevice* const*, size_t,
                                                              const char* info,
                                                              OrtCompiledModelCompatibility* answer) noexcept {
      return entry(own(f).host_, "ValidateCompiledModelCompatibilityInfo", [&] {
        *answer = std::string(info) == kCompatibility ? OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL
                                                      : OrtCompiledModelCompatibility_EP_UNSUPPORTED;
      });
    };
  }

  void set_memory_functions() {
    OrtEpFactory::CreateAllocator = [](OrtEpFactory* f, const OrtMemoryInfo* info, const OrtKeyValuePairs*,
                                       OrtAllocator** made) noexcept {
      const Factory& self = own(f);
      return entry(self.host_, "CreateAllocator", [&] {
        // The host may release its `info`, so an own one for the same memory is used.
        const OrtMemoryDevice* where = self.host_.ep->MemoryInfo_GetMemoryDevice(info);
        const bool pinned = self.host_.ep->MemoryDevice_GetMemoryType(where) == OrtDeviceMemoryType_HOST_ACCESSIBLE;
        *made = make_allocator(pinned ? self.pinned_ : self.memory_, self.device_, pinned);
      });
    };
    OrtEpFactory::ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* a) noexcept { release_allocator(a); };
    // The devices keep their memory in that of the host.
    OrtEpFactory::GetDeviceMemoryCapacity = [](OrtEpFactory* f, const OrtEpDevice*, OrtDeviceMemoryType, size_t* total,
                                               size_t* available) noexcept {
      return entry(own(f).host_, "GetDeviceMemoryCapacity", [&] {
        const size_t page = size_t(sysconf(_SC_PAGESIZE));
        if (total) *total = size_t(sysconf(_SC_PHYS_PAGES)) * page;
        if (available) *available = size_t(sysconf(_SC_AVPHYS_PAGES)) * page;
      });
    };
    OrtEpFactory::CreateDataTransfer = [](OrtEpFactory* f, OrtDataTransferImpl** made) noexcept {
      return entry(own(f).host_, "CreateDataTransfer", [&] { *made = make_transfer(own(f).host_); });
    };
  }

  void set_stream_functions() {
    OrtEpFactory::IsStreamAware = [](const OrtEpFactory*) noexcept { return Control::get().streams.load(); };
    // For streams of applications; the provider makes those of sessions.
    OrtEpFactory::CreateSyncStreamForDevice = [](OrtEpFactory* f, const OrtMemoryDevice*, const OrtKeyValuePairs*,
                                                 OrtSyncStreamImpl** made) noexcept {
      return entry(own(f).host_, "CreateSyncStreamForDevice", [&] { *made = new Stream(own(f).host_, nullptr); });
    };
  }

  /// Offers one device, on the processor, as that is the only hardware.
  size_t offer(const OrtHardwareDevice* const* hardware, size_t count, OrtEpDevice** made, size_t room) {
    for (size_t i = 0; i < count && room > 0; ++i) {
      if (host_.api->HardwareDevice_Type(hardware[i]) != OrtHardwareDeviceType_CPU) continue;
      check(host_, host_.ep->CreateEpDevice(this, hardware[i], nullptr, nullptr, made));
      check(host_, host_.ep->EpDevice_AddAllocatorInfo(*made, memory_));
      check(host_, host_.ep->EpDevice_AddAllocatorInfo(*made, pinned_));
      return 1;
    }
    return 0;
  }

  const Host host_;
  const int device_;
  const std::string name_;
  OrtMemoryInfo *memory_ = nullptr, *pinned_ = nullptr;
};

/// Options of the environment: "ep_factory.<registered name>.<option>".
void read_environment(const Host& host, const std::string& registered) {
  OrtKeyValuePairs* entries = nullptr;
  if (OrtStatus* none = host.ep->GetEnvConfigEntries(&entries)) return host.api->ReleaseStatus(none);
  const std::unique_ptr<OrtKeyValuePairs, void (*)(OrtKeyValuePairs*)> owned(entries, host.api->ReleaseKeyValuePairs);
  for (const char* key : {"style", "claim", "drop_constants", "channels_last", "capture", "rate", "latency_us",
                          "delay_us", "streams", "fail"}) {
    const char* value = host.api->GetKeyValue(entries, ("ep_factory." + registered + "." + key).c_str());
    if (value && !Control::get().set(key, value))
      throw Error(ORT_INVALID_ARGUMENT, std::string("option '") + key + "' cannot be '" + value + "'");
  }
}

}  // namespace
}  // namespace loopback

using namespace loopback;

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char* registered, const OrtApiBase* base,
                                                                    const OrtLogger*, OrtEpFactory** factories,
                                                                    size_t room, size_t* count) {
  *count = 0;
  // Newer versions only add what the host may ask.
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (!api) api = base->GetApi(kOldestHost);
  if (!api) {  // version 1 suffices to report this
    const OrtApi* const oldest = base->GetApi(1);
    return oldest ? oldest->CreateStatus(ORT_NOT_IMPLEMENTED, "loopback needs a newer library") : nullptr;
  }
  const Host host{api, api->GetEpApi(), api->GetModelEditorApi()};
  return entry(host, "CreateEpFactories", [&] {
    read_environment(host, registered ? registered : "");
    if (room < kDevices) throw Error("no room for " + std::to_string(kDevices) + " factories");
    std::unique_ptr<Factory> made[kDevices];
    for (int i = 0; i < kDevices; ++i) made[i] = std::make_unique<Factory>(host, i);
    for (int i = 0; i < kDevices; ++i) factories[i] = made[i].release();
    *count = kDevices;
  });
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}
}
