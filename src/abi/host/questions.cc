// What callers ask plug-ins before they make a session, and types that plug-ins ask for.
#include <array>

#include "abi/host/data_type.h"
#include "abi/host/plugin.h"
#include "abi/slots.h"
#include "abi/type_info.h"

namespace retort::abi {

void ask_incompatibility(const OrtEpDevice& device, const OrtHardwareDevice& hardware,
                         OrtDeviceEpIncompatibilityDetails& details) {
  constexpr uint32_t kSince = 24;
  OrtEpFactory* factory = device.plugin;
  if (!factory || factory->ort_version_supported < kSince || !factory->GetHardwareDeviceIncompatibilityDetails) return;
  check_plugin(factory->GetHardwareDeviceIncompatibilityDetails(factory, &hardware, &details),
               cat("provider '{}'", device.name), "GetHardwareDeviceIncompatibilityDetails");
}

OrtCompiledModelCompatibility ask_compatibility(std::span<const OrtEpDevice* const> devices, const char* note) {
  constexpr uint32_t kSince = 23;
  auto answer = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  OrtEpFactory* factory = devices[0]->plugin;
  // The CPU compiles nothing ahead of time.
  if (!factory || factory->ort_version_supported < kSince || !factory->ValidateCompiledModelCompatibilityInfo)
    return answer;
  std::vector<const OrtHardwareDevice*> hardware;
  for (const OrtEpDevice* d : devices) hardware.push_back(d->hardware);
  check_plugin(
      factory->ValidateCompiledModelCompatibilityInfo(factory, hardware.data(), hardware.size(), note, &answer),
      cat("provider '{}'", devices[0]->name), "ValidateCompiledModelCompatibilityInfo");
  return answer;
}

namespace ep_api {

OrtStatusPtr ORT_API_CALL DeviceEpIncompatibilityDetails_SetDetails(OrtDeviceEpIncompatibilityDetails* details,
                                                                    uint32_t reasons_bitmask, int32_t error_code,
                                                                    const char* notes) noexcept {
  return guard([&] {
    OrtDeviceEpIncompatibilityDetails& all = handle(details, "details");
    all.reasons = reasons_bitmask;
    all.code = error_code;
    all.notes = notes ? notes : "";
  });
}

OrtStatusPtr ORT_API_CALL GetTensorDataType(ONNXTensorElementDataType elem_type, const OrtDataType** out) noexcept {
  return guard([&] {
    static const auto* const kTypes = [] {
      auto* types = new std::array<OrtDataType, kDTypeCount>;
      for (size_t i = 0; i < types->size(); ++i) (*types)[i].element = DType(i);
      return types;
    }();
    const OrtDataType*& type = need(out, "out");
    const DType element = from_onnx(elem_type);
    type = &(*kTypes)[size_t(element)];
  });
}

}  // namespace ep_api
}  // namespace retort::abi
