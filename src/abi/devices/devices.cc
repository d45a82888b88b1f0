// Devices and functions that query them. All devices of the machine are listed; only the processor has a provider until
// a plug-in library is registered.
#include "abi/devices/devices.h"
#include "abi/host/plugin.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>
#include <cstring>
#include <mutex>

#include "abi/listing.h"
#include "abi/sessions/environment.h"
#include "abi/sessions/session.h"
#include "abi/slots.h"
#include "ep/hardware.h"
#include "ep/vulkan.h"
#include "ops/external.h"

namespace retort::abi {
namespace {

struct Vendor {
  std::string_view signature, name;  ///< the vendor's signature (CPUID), and the vendor's usual name
  uint32_t id;
};

Vendor processor_vendor() {
#if defined(__x86_64__)
  constexpr std::array kVendors{Vendor{"GenuineIntel", "Intel", 0x8086}, Vendor{"AuthenticAMD", "AMD", 0x1022},
                                Vendor{"HygonGenuine", "Hygon", 0x1d94}, Vendor{"CentaurHauls", "Centaur", 0x1d17}};
  unsigned highest = 0, words[3] = {};
  if (__get_cpuid(0, &highest, &words[0], &words[2], &words[1])) {
    char signature[sizeof words];
    std::memcpy(signature, words, sizeof words);
    for (const Vendor& vendor : kVendors) {
      if (vendor.signature == std::string_view(signature, sizeof signature)) return vendor;
    }
  }
#endif
  return {"", "unknown", 0};
}

const OrtHardwareDevice& processor() {
  static const OrtHardwareDevice& device = [&]() -> const OrtHardwareDevice& {
    auto& made = *new OrtHardwareDevice;
    const Vendor vendor = processor_vendor();
    made.vendor = vendor.name;
    made.vendor_id = vendor.id;
    return made;
  }();
  return device;
}

OrtHardwareDevice& object_of(const HardwareDevice& device) {
  auto& made = *new OrtHardwareDevice;
  made.type = OrtHardwareDeviceType(device.kind);
  made.vendor_id = device.vendor_id;
  made.device_id = device.device_id;
  for (const auto& [key, value] : device.metadata) made.metadata.set(key, value);
  return made;
}

using HardwareList = std::vector<const OrtHardwareDevice*>;

HardwareList objects_of(const std::vector<HardwareDevice>& devices) {
  HardwareList list;
  for (const HardwareDevice& device : devices) list.push_back(&object_of(device));
  return list;
}

/// The machine's GPUs and NPUs, searched for on the first call.
const HardwareList& found_devices() {
  static const HardwareList& list = *new HardwareList(objects_of(find_hardware("/sys")));
  return list;
}

/// The same with the details that Vulkan reports, and with devices that only Vulkan finds.
const HardwareList& vulkan_devices() {
  static const HardwareList& list = [&]() -> const HardwareList& {
    std::vector<HardwareDevice> devices = find_hardware("/sys");
    add_vulkan(devices, find_vulkan());
    return *new HardwareList(objects_of(devices));
  }();
  return list;
}

/// The value of an object's field; `otherwise` for null and for handles of another kind, because getters return no
/// status.
template <typename T, typename F>
auto view(const T* object, F field) -> decltype(field(*object)) {
  if (!object || object->tag != T::kTag) return {};
  return field(*object);
}

/// `device_of` returns the device of a port.
template <typename F>
void fill(const std::vector<Port>& ports, const OrtEpDevice** devices, size_t count, const char* what, F device_of) {
  need(devices, what);
  require(count > 0 && count >= ports.size(), ErrorCode::invalid_argument, "there is room for {} of {} ports", count,
          ports.size());
  for (size_t i = 0; i < count; ++i) devices[i] = i < ports.size() ? device_of(i) : nullptr;
}

}  // namespace

// The found devices, the environment's declared devices, and the processor last, as in the official library. Callers
// may use devices after their environment is released, so lists are kept, one per declaration.
const HardwareList& hardware_of(const OrtEnv& env) {
  static std::mutex& mutex = *new std::mutex;
  static auto& lists = *new std::map<std::pair<bool, std::string>, HardwareList>;
  const auto entry = [&](const char* key) {
    const auto& config = env.environment->config();
    const auto at = config.find(key);
    return at == config.end() ? std::string() : at->second;
  };
  const bool vulkan = entry(kDiscoverVulkan) == "1";
  const std::string declared = entry(kVirtualDevices);
  const std::lock_guard lock(mutex);
  const auto at = lists.find({vulkan, declared});
  if (at != lists.end()) return at->second;
  HardwareList list = vulkan ? vulkan_devices() : found_devices();
  for (const OrtHardwareDevice* device : objects_of(virtual_devices(declared))) list.push_back(device);
  list.push_back(&processor());
  return lists[{vulkan, declared}] = std::move(list);
}

const OrtEpDevice& cpu_device() {
  static const OrtEpDevice& device = [&]() -> const OrtEpDevice& {
    auto& made = *new OrtEpDevice;
    made.name = kCpuProvider;
    made.vendor = "Retort";
    made.metadata.set("version", base_api::GetVersionString());
    made.hardware = &processor();
    return made;
  }();
  return device;
}

OrtStatusPtr ORT_API_CALL GetEpDevices(const OrtEnv* env, const OrtEpDevice* const** ep_devices,
                                       size_t* num_ep_devices) noexcept {
  return guard([&] {
    handle(env, "env");
    need(ep_devices, "ep_devices");
    const auto& all = env->devices->list();
    need(num_ep_devices, "num_ep_devices") = all.size();
    *ep_devices = all.data();
  });
}

OrtHardwareDeviceType ORT_API_CALL HardwareDevice_Type(const OrtHardwareDevice* device) noexcept {
  return view(device, [](const OrtHardwareDevice& d) { return d.type; });
}
uint32_t ORT_API_CALL HardwareDevice_VendorId(const OrtHardwareDevice* device) noexcept {
  return view(device, [](const OrtHardwareDevice& d) { return d.vendor_id; });
}
const char* ORT_API_CALL HardwareDevice_Vendor(const OrtHardwareDevice* device) noexcept {
  return view(device, [](const OrtHardwareDevice& d) { return d.vendor.c_str(); });
}
uint32_t ORT_API_CALL HardwareDevice_DeviceId(const OrtHardwareDevice* device) noexcept {
  return view(device, [](const OrtHardwareDevice& d) { return d.device_id; });
}
const OrtKeyValuePairs* ORT_API_CALL HardwareDevice_Metadata(const OrtHardwareDevice* device) noexcept {
  return view(device, [](const OrtHardwareDevice& d) { return &d.metadata; });
}
const char* ORT_API_CALL EpDevice_EpName(const OrtEpDevice* ep_device) noexcept {
  return view(ep_device, [](const OrtEpDevice& d) { return d.name.c_str(); });
}
const char* ORT_API_CALL EpDevice_EpVendor(const OrtEpDevice* ep_device) noexcept {
  return view(ep_device, [](const OrtEpDevice& d) { return d.vendor.c_str(); });
}
const OrtKeyValuePairs* ORT_API_CALL EpDevice_EpMetadata(const OrtEpDevice* ep_device) noexcept {
  return view(ep_device, [](const OrtEpDevice& d) { return &d.metadata; });
}
const OrtKeyValuePairs* ORT_API_CALL EpDevice_EpOptions(const OrtEpDevice* ep_device) noexcept {
  return view(ep_device, [](const OrtEpDevice& d) { return &d.options; });
}
const OrtHardwareDevice* ORT_API_CALL EpDevice_Device(const OrtEpDevice* ep_device) noexcept {
  return view(ep_device, [](const OrtEpDevice& d) { return d.hardware; });
}
// Null means that values lie in host memory.
const OrtMemoryInfo* ORT_API_CALL EpDevice_MemoryInfo(const OrtEpDevice* ep_device,
                                                      OrtDeviceMemoryType memory_type) noexcept {
  return view(ep_device, [&](const OrtEpDevice& d) -> const OrtMemoryInfo* {
    for (const auto& memory : d.memory) {
      if (int(memory->space().kind) == int(memory_type)) return &info_of(memory->space());
    }
    return nullptr;
  });
}

OrtStatusPtr ORT_API_CALL EpDevice_GetMemoryCapacity(const OrtEpDevice* ep_device, OrtDeviceMemoryType memory_type,
                                                     size_t* total_bytes, size_t* available_bytes) noexcept {
  return guard([&] {
    const OrtEpDevice& device = handle(ep_device, "ep_device");
    require(total_bytes || available_bytes, ErrorCode::invalid_argument,
            "total_bytes and available_bytes are both null; give one of them");
    ask_memory_capacity(device, memory_type, total_bytes, available_bytes);
  });
}

OrtStatusPtr ORT_API_CALL GetNumHardwareDevices(const OrtEnv* env, size_t* num_devices) noexcept {
  return guard([&] {
    const OrtEnv& e = handle(env, "env");
    need(num_devices, "num_devices") = hardware_of(e).size();
  });
}

OrtStatusPtr ORT_API_CALL GetHardwareDevices(const OrtEnv* env, const OrtHardwareDevice** devices,
                                             size_t num_devices) noexcept {
  return guard([&] {
    const HardwareList& all = hardware_of(handle(env, "env"));
    need(devices, "devices");
    fill_list(all, devices, num_devices, "devices", [](const OrtHardwareDevice* device) { return device; });
  });
}

OrtStatusPtr ORT_API_CALL
GetHardwareDeviceEpIncompatibilityDetails(const OrtEnv* env, const char* ep_name, const OrtHardwareDevice* hw,
                                          OrtDeviceEpIncompatibilityDetails** details) noexcept {
  return guard([&] {
    handle(env, "env");
    const std::string_view name = need_text(ep_name, "ep_name");
    require(!env->devices->of(name).empty(), ErrorCode::invalid_argument,
            "there is no provider '{}' in this environment; ask which devices it has", name);
    handle(hw, "hw");
    auto found = std::make_unique<OrtDeviceEpIncompatibilityDetails>();
    ask_incompatibility(*env->devices->of(name).front(), *hw, *found);
    give(details, "details", std::move(found));
  });
}

OrtStatusPtr ORT_API_CALL DeviceEpIncompatibilityDetails_GetReasonsBitmask(
    const OrtDeviceEpIncompatibilityDetails* details, uint32_t* reasons_bitmask) noexcept {
  return guard([&] {
    const uint32_t reasons = handle(details, "details").reasons;
    need(reasons_bitmask, "reasons_bitmask") = reasons;
  });
}

OrtStatusPtr ORT_API_CALL DeviceEpIncompatibilityDetails_GetNotes(const OrtDeviceEpIncompatibilityDetails* details,
                                                                  const char** notes) noexcept {
  return guard([&] {
    const std::string& text = handle(details, "details").notes;
    need(notes, "notes") = text.empty() ? nullptr : text.c_str();
  });
}

OrtStatusPtr ORT_API_CALL DeviceEpIncompatibilityDetails_GetErrorCode(const OrtDeviceEpIncompatibilityDetails* details,
                                                                      int32_t* error_code) noexcept {
  return guard([&] {
    const int32_t code = handle(details, "details").code;
    need(error_code, "error_code") = code;
  });
}

void ORT_API_CALL ReleaseDeviceEpIncompatibilityDetails(OrtDeviceEpIncompatibilityDetails* input) noexcept {
  release(input);
}

OrtStatusPtr ORT_API_CALL SessionGetEpDeviceForInputs(const OrtSession* session, const OrtEpDevice** inputs_ep_devices,
                                                      size_t num_inputs) noexcept {
  return guard([&] {
    fill(inputs_of(session), inputs_ep_devices, num_inputs, "inputs_ep_devices", [&](size_t i) {
      if (session->draft) return &cpu_device();
      const std::optional<std::string>& reader = session->session->ports().reader(i);
      return reader ? &session->device_of(*reader) : nullptr;
    });
  });
}

OrtStatusPtr ORT_API_CALL SessionGetEpDeviceForOutputs(const OrtSession* session,
                                                       const OrtEpDevice** outputs_ep_devices,
                                                       size_t num_outputs) noexcept {
  return guard([&] {
    fill(outputs_of(session), outputs_ep_devices, num_outputs, "outputs_ep_devices", [&](size_t i) {
      // What no node makes is an input or a constant, which the CPU gives to the caller.
      return session->draft ? &cpu_device() : &session->device_of(session->session->ports().maker(i).value_or(""));
    });
  });
}

OrtStatusPtr ORT_API_CALL GetModelCompatibilityForEpDevices(const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
                                                            const char* compatibility_info,
                                                            OrtCompiledModelCompatibility* out_status) noexcept {
  return guard([&] {
    need(ep_devices, "ep_devices");
    require(num_ep_devices > 0, ErrorCode::invalid_argument, "no devices were given");
    for (size_t i = 0; i < num_ep_devices; ++i) {
      require(handle(ep_devices[i], "ep_devices").plugin == handle(ep_devices[0], "ep_devices").plugin,
              ErrorCode::invalid_argument, "devices {} and 0 are of different providers, '{}' and '{}'", i,
              ep_devices[i]->name, ep_devices[0]->name);
    }
    need_text(compatibility_info, "compatibility_info");
    need(out_status, "out_status") = ask_compatibility({ep_devices, num_ep_devices}, compatibility_info);
  });
}

}  // namespace retort::abi
