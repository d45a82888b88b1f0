// A provider library that takes nothing: it writes the graph that it is shown, as text, to the file that the environment
// variable RETORT_GRAPH_TEXT names.
#include <cstdlib>
#include <fstream>

#include "abi/graphs/graph_text_testing.h"
#include "retort/onnxruntime_ep_c_api.h"

namespace {

const OrtApi* g_api = nullptr;

const char* ORT_API_CALL ep_name(const OrtEp*) noexcept { return "graph_text"; }

OrtStatus* ORT_API_CALL get_capability(OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo*) noexcept {
  const char* path = std::getenv("RETORT_GRAPH_TEXT");
  const OrtNode* parent = nullptr;
  g_api->ReleaseStatus(g_api->Graph_GetParentNode(graph, &parent));
  if (path && !parent) std::ofstream(path) << retort::abi::graph_text(*g_api, graph);
  return nullptr;
}

const char* ORT_API_CALL factory_name(const OrtEpFactory*) noexcept { return "graph_text"; }
const char* ORT_API_CALL factory_vendor(const OrtEpFactory*) noexcept { return "Retort"; }
const char* ORT_API_CALL factory_version(const OrtEpFactory*) noexcept { return "1.0.0"; }
uint32_t ORT_API_CALL factory_vendor_id(const OrtEpFactory*) noexcept { return 0; }

OrtStatus* ORT_API_CALL supported_devices(OrtEpFactory* factory, const OrtHardwareDevice* const* devices, size_t count,
                                          OrtEpDevice** made, size_t room, size_t* number) noexcept {
  *number = 0;
  for (size_t i = 0; i < count && *number < room; ++i) {
    if (g_api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
    if (OrtStatus* failed = g_api->GetEpApi()->CreateEpDevice(factory, devices[i], nullptr, nullptr, &made[*number]))
      return failed;
    ++*number;
  }
  return nullptr;
}

OrtStatus* ORT_API_CALL create_ep(OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*,
                                  size_t, const OrtSessionOptions*, const OrtLogger*, OrtEp** made) noexcept {
  auto* ep = new OrtEp{};
  ep->ort_version_supported = 23;
  ep->GetName = ep_name;
  ep->GetCapability = get_capability;
  *made = ep;
  return nullptr;
}

bool ORT_API_CALL is_stream_aware(const OrtEpFactory*) noexcept { return false; }

OrtStatus* ORT_API_CALL no_transfer(OrtEpFactory*, OrtDataTransferImpl** made) noexcept {
  *made = nullptr;
  return nullptr;
}

void ORT_API_CALL release_ep(OrtEpFactory*, OrtEp* ep) noexcept { delete ep; }

}  // namespace

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base,
                                                                    const OrtLogger*, OrtEpFactory** factories,
                                                                    size_t room, size_t* number) {
  g_api = base->GetApi(ORT_API_VERSION);
  if (room < 1) return g_api->CreateStatus(ORT_INVALID_ARGUMENT, "there is no room for a factory");
  auto* factory = new OrtEpFactory{};
  factory->ort_version_supported = 23;
  factory->GetName = factory_name;
  factory->GetVendor = factory_vendor;
  factory->GetVendorId = factory_vendor_id;
  factory->GetVersion = factory_version;
  factory->GetSupportedDevices = supported_devices;
  factory->CreateEp = create_ep;
  factory->IsStreamAware = is_stream_aware;
  factory->CreateDataTransfer = no_transfer;
  factory->ReleaseEp = release_ep;
  factories[0] = factory;
  *number = 1;
  return nullptr;
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete factory;
  return nullptr;
}
}
