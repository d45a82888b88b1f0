// What the host meets first: the two functions that the library exports, and a factory that says which devices there
// are.
#include "ep.h"
#include "memory.h"

namespace sample_provider {
namespace {

class Factory : public OrtEpFactory {
 public:
  explicit Factory(const Host& host) : OrtEpFactory{}, host_(host), memory_(host) {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEpFactory*) noexcept { return kName; };
    GetVendor = [](const OrtEpFactory*) noexcept { return "Your company"; };
    GetVendorId = [](const OrtEpFactory*) noexcept -> uint32_t { return 0; };  // of PCI, where the vendor has one
    GetVersion = [](const OrtEpFactory*) noexcept { return "0.1.0"; };
    GetSupportedDevices = [](OrtEpFactory* f, const OrtHardwareDevice* const* hardware, size_t count,
                             OrtEpDevice** made, size_t room, size_t* number) noexcept {
      *number = 0;
      Factory& self = *static_cast<Factory*>(f);
      return entry(self.host_, [&] { *number = self.offer(hardware, count, made, room); });
    };
    CreateEp = [](OrtEpFactory* f, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** made) noexcept {
      const Host& host = static_cast<Factory*>(f)->host_;
      return entry(host, [&] { *made = new Ep(host, options); });
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Ep*>(ep); };
    // ONNX Runtime calls these without a look whether they are there. Others that stay null are those that hosts do
    // without.
    CreateAllocator = [](OrtEpFactory* f, const OrtMemoryInfo*, const OrtKeyValuePairs*, OrtAllocator** made) noexcept {
      const Factory& self = *static_cast<Factory*>(f);
      return entry(self.host_, [&] { *made = self.memory_.make_allocator(); });
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* allocator) noexcept { Memory::release(allocator); };
    CreateDataTransfer = [](OrtEpFactory* f, OrtDataTransferImpl** made) noexcept {
      const Factory& self = *static_cast<Factory*>(f);
      return entry(self.host_, [&] { *made = self.memory_.make_transfer(); });
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }

 private:
  /// The hardware that this provider can use, of all that the host knows; here the processor.
  size_t offer(const OrtHardwareDevice* const* hardware, size_t count, OrtEpDevice** made, size_t room) {
    size_t offered = 0;
    for (size_t i = 0; i < count && offered < room; ++i) {
      if (host_.api->HardwareDevice_Type(hardware[i]) != OrtHardwareDeviceType_CPU) continue;
      check(host_, host_.ep->CreateEpDevice(this, hardware[i], nullptr, nullptr, made + offered));
      memory_.describe(made[offered++]);
    }
    return offered;
  }

  const Host host_;
  const Memory memory_;
};

}  // namespace
}  // namespace sample_provider

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base,
                                                                    const OrtLogger*, OrtEpFactory** factories,
                                                                    size_t room, size_t* count) {
  using namespace sample_provider;
  *count = 0;
  const OrtApi* const api = base->GetApi(ORT_API_VERSION);
  if (!api) {  // an older library: version 1 is enough to say so
    const OrtApi* const oldest = base->GetApi(1);
    return oldest ? oldest->CreateStatus(ORT_NOT_IMPLEMENTED, "this provider needs a newer library") : nullptr;
  }
  const Host host{api, api->GetEpApi()};
  return entry(host, [&] {
    if (room < 1) throw Error("there is no room for a factory");
    factories[0] = new Factory(host);
    *count = 1;
  });
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<sample_provider::Factory*>(factory);
  return nullptr;
}
}
