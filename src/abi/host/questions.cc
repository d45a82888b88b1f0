// Queries that callers send to plug-ins before they make a session, and the types that plug-ins ask for.
#include <algorithm>
#include <array>

#include "abi/host/data_type.h"
#include "abi/host/plugin.h"
#include "abi/sessions/options.h"
#include "abi/slots.h"
#include "abi/values/type_info.h"
#include "ir/graph.h"

namespace retort::abi {

void ask_incompatibility(const OrtEpDevice& device, const OrtHardwareDevice& hardware,
                         OrtDeviceEpIncompatibilityDetails& details) {
  constexpr uint32_t kSince = 24;
  OrtEpFactory* factory = device.plugin;
  if (!factory || factory->ort_version_supported < kSince || !factory->GetHardwareDeviceIncompatibilityDetails) return;
  call_plugin({"provider", device.name}, "GetHardwareDeviceIncompatibilityDetails",
              factory->GetHardwareDeviceIncompatibilityDetails, factory, &hardware, &details);
}

void ask_memory_capacity(const OrtEpDevice& device, OrtDeviceMemoryType type, size_t* total, size_t* available) {
  constexpr uint32_t kSince = 32;
  OrtEpFactory* factory = device.plugin;
  const bool answers = factory && factory->ort_version_supported >= kSince && factory->GetDeviceMemoryCapacity;
  require(answers, ErrorCode::not_implemented, "provider '{}' does not tell the capacity of its devices' memory",
          device.name);
  size_t all = 0, rest = 0;
  call_plugin({"provider", device.name}, "GetDeviceMemoryCapacity", factory->GetDeviceMemoryCapacity, factory, &device,
              type, total ? &all : nullptr, available ? &rest : nullptr);
  if (total) *total = all;
  if (available) *available = rest;
}

OrtCompiledModelCompatibility ask_compatibility(std::span<const OrtEpDevice* const> devices, const char* note) {
  constexpr uint32_t kSince = 23;
  auto answer = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  OrtEpFactory* factory = devices[0]->plugin;
  // The CPU does not compile models ahead of time.
  if (!factory || factory->ort_version_supported < kSince || !factory->ValidateCompiledModelCompatibilityInfo)
    return answer;
  std::vector<const OrtHardwareDevice*> hardware;
  for (const OrtEpDevice* d : devices) hardware.push_back(d->hardware);
  call_plugin({"provider", devices[0]->name}, "ValidateCompiledModelCompatibilityInfo",
              factory->ValidateCompiledModelCompatibilityInfo, factory, hardware.data(), hardware.size(), note,
              &answer);
  return answer;
}

void check_compiled_model(std::span<const OrtEpDevice* const> devices, const Model& model, bool optimal) {
  const std::string& name = devices[0]->name;
  const std::string key = cat("ep_compatibility_info.{}", name);
  const auto note = std::ranges::find(model.metadata, key, [](const auto& entry) { return entry.first; });
  if (note == model.metadata.end()) return;
  OrtCompiledModelCompatibility answer{};
  try {
    answer = ask_compatibility(devices, note->second.c_str());
  } catch (const Error& e) {
    fail(ErrorCode::fail, "it is unknown whether the compiled model runs here: {}", e.what());
  }
  require(answer != OrtCompiledModelCompatibility_EP_UNSUPPORTED, ErrorCode::fail,
          "the model was compiled for '{}', which provider '{}' cannot run here; compile it again for this device",
          note->second, name);
  require(!optimal || answer != OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION, ErrorCode::fail,
          "the model was compiled for '{}'; provider '{}' would run it faster if it were compiled again, and "
          "session.fail_on_suboptimal_compiled_model is set; compile it again for this device",
          note->second, name);
}

void add_operator_domains(const OrtEpDevice& device, std::vector<OrtCustomOpDomain*>& domains) {
  constexpr uint32_t kSince = 24;
  OrtEpFactory* factory = device.plugin;
  if (!factory || factory->ort_version_supported < kSince || !factory->GetNumCustomOpDomains ||
      !factory->GetCustomOpDomains)
    return;
  size_t count = 0;
  call_plugin({"provider", device.name}, "GetNumCustomOpDomains", factory->GetNumCustomOpDomains, factory, &count);
  if (count == 0) return;
  std::vector<OrtCustomOpDomain*> added(count);
  call_plugin({"provider", device.name}, "GetCustomOpDomains", factory->GetCustomOpDomains, factory, added.data(),
              count);
  for (OrtCustomOpDomain* domain : added) {
    handle(domain, "the domain of a plug-in");
    if (std::ranges::count(domains, domain) == 0) domains.push_back(domain);
  }
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
