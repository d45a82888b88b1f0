// A plug-in library around another one, which presents the processor as another device: plug-ins that need a GPU, or a
// processor of a certain vendor, then offer their devices to hosts in which no device can be declared. Everything else
// is passed through. PLUGIN_INSIDE is the path of the inner library, PLUGIN_VENDOR the PCI vendor of the processor,
// PLUGIN_TYPE, if set, its OrtHardwareDeviceType.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

#include "retort/onnxruntime_c_api.h"

namespace {

const OrtApiBase* host = nullptr;
void* inside = nullptr;

long setting(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtol(text, nullptr, 0) : otherwise;
}

const OrtApi* newest() { return host->GetApi(ORT_API_VERSION); }

bool is_processor(const OrtHardwareDevice* device) {
  return newest()->HardwareDevice_Type(device) == OrtHardwareDeviceType_CPU;
}

OrtHardwareDeviceType ORT_API_CALL type_of(const OrtHardwareDevice* device) noexcept {
  const OrtHardwareDeviceType type = newest()->HardwareDevice_Type(device);
  return is_processor(device) ? static_cast<OrtHardwareDeviceType>(setting("PLUGIN_TYPE", type)) : type;
}

uint32_t ORT_API_CALL vendor_of(const OrtHardwareDevice* device) noexcept {
  const uint32_t vendor = newest()->HardwareDevice_VendorId(device);
  return is_processor(device) ? static_cast<uint32_t>(setting("PLUGIN_VENDOR", static_cast<long>(vendor))) : vendor;
}

/// The functions of the host, except for those two. A host has one table for all versions, so a copy of the newest
/// suffices.
const OrtApi* ORT_API_CALL api_of(uint32_t version) noexcept {
  if (!host->GetApi(version)) return nullptr;
  static const OrtApi changed = [] {
    OrtApi api = *newest();
    api.HardwareDevice_Type = type_of;
    api.HardwareDevice_VendorId = vendor_of;
    return api;
  }();
  return &changed;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base,
                                                                    const OrtLogger* logger, OrtEpFactory** factories,
                                                                    size_t most, size_t* count) {
  host = base;
  const char* path = std::getenv("PLUGIN_INSIDE");
  inside = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!inside) return newest()->CreateStatus(ORT_FAIL, path ? dlerror() : "PLUGIN_INSIDE is not set");
  using Create = OrtStatus* (*)(const char*, const OrtApiBase*, const OrtLogger*, OrtEpFactory**, size_t, size_t*);
  const auto create = reinterpret_cast<Create>(dlsym(inside, "CreateEpFactories"));
  static const OrtApiBase changed{api_of, base->GetVersionString};
  return create(name, &changed, logger, factories, most, count);
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  const auto release = reinterpret_cast<OrtStatus* (*)(OrtEpFactory*)>(dlsym(inside, "ReleaseEpFactory"));
  return release(factory);
}

}  // extern "C"
