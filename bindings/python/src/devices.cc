#include "devices.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "enums.h"
#include "gil_lock.h"
#include "memory.h"
#include "rooms.h"
#include "text.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

std::vector<EpDevice> get_ep_devices() {
  std::vector<EpDevice> result;
  for (const OrtEpDevice* device : ep_devices()) {
    result.push_back({device});
  }
  return result;
}

std::vector<HardwareDevice> get_hardware_devices() {
  needs(24, "get_hardware_devices()");
  size_t count = 0;
  check(api().GetNumHardwareDevices(&env(), &count));
  std::vector<const OrtHardwareDevice*> handles(count);
  check(api().GetHardwareDevices(&env(), handles.data(), count));
  std::vector<HardwareDevice> result;
  for (const OrtHardwareDevice* handle : handles) {
    result.push_back({handle});
  }
  return result;
}

MemoryInfo memory_info(const EpDevice& device, OrtDeviceMemoryType type) {
  const OrtMemoryInfo* info = api().EpDevice_MemoryInfo(device.handle, type);
  if (!info) {
    throw std::runtime_error(std::string("OrtEpDevice.memory_info(): the device of ") +
                             api().EpDevice_EpName(device.handle) + " has no memory of this kind; host memory is " +
                             "OrtMemoryInfo('Cpu', ...)");
  }
  return MemoryInfo(info);
}

SyncStream create_sync_stream(const EpDevice& device) {
  OrtSyncStream* stream = nullptr;
  check(api().CreateSyncStreamForEpDevice(device.handle, nullptr, &stream));
  return SyncStream(stream);
}

std::pair<size_t, size_t> memory_capacity(const EpDevice& device, OrtDeviceMemoryType type) {
  needs(32, "OrtEpDevice.memory_capacity()");
  size_t total = 0, available = 0;
  check(api().EpDevice_GetMemoryCapacity(device.handle, type, &total, &available));
  return {total, available};
}

void register_library(const std::string& name, const std::string& path) {
  OrtEnv& environment = env();
  OrtStatus* status = nullptr;
  {
    const WithoutGil release;
    status = api().RegisterExecutionProviderLibrary(&environment, c_text(name), c_text(path));
  }
  check(status);
}

void unregister_library(const std::string& name) {
  OrtEnv& environment = env();
  OrtStatus* status = nullptr;
  {
    const WithoutGil release;
    status = api().UnregisterExecutionProviderLibrary(&environment, c_text(name));
  }
  check(status);
}

std::vector<OrtValue*> handles_of(nb::sequence values, const char* what) {
  std::vector<OrtValue*> result;
  for (nb::handle value : values) {
    result.push_back(unwrap(value, what));
  }
  return result;
}

// The stream may be an OrtSyncStream or None.
void copy_tensors(nb::sequence sources, nb::sequence targets, nb::object stream) {
  const std::vector<OrtValue*> from = handles_of(sources, "copy_tensors(): a source");
  const std::vector<OrtValue*> to = handles_of(targets, "copy_tensors(): a destination");
  if (from.size() != to.size()) {
    throw Error(ORT_INVALID_ARGUMENT, "copy_tensors(): " + std::to_string(from.size()) + " sources and " +
                                          std::to_string(to.size()) + " destinations; give as many of both");
  }
  OrtSyncStream* handle = stream.is_none() ? nullptr : nb::cast<SyncStream&>(stream).get();
  OrtEnv& environment = env();
  OrtStatus* status = nullptr;
  {
    const WithoutGil release;
    status = api().CopyTensors(&environment, from.data(), to.data(), handle, from.size());
  }
  check(status);
}

std::vector<const OrtEpDevice*> handles_of(const std::vector<EpDevice>& devices) {
  std::vector<const OrtEpDevice*> result;
  for (const EpDevice& device : devices) {
    result.push_back(device.handle);
  }
  return result;
}

OrtCompiledModelCompatibility compatibility(const std::vector<EpDevice>& devices, const std::string& info) {
  const std::vector<const OrtEpDevice*> handles = handles_of(devices);
  OrtCompiledModelCompatibility result{};
  check(api().GetModelCompatibilityForEpDevices(handles.data(), handles.size(), c_text(info), &result));
  return result;
}

nb::dict incompatibility(const std::string& provider, const HardwareDevice& device) {
  needs(24, "get_hardware_device_ep_incompatibility_details()");
  OrtDeviceEpIncompatibilityDetails* details = nullptr;
  check(api().GetHardwareDeviceEpIncompatibilityDetails(&env(), c_text(provider), device.handle, &details));
  const std::unique_ptr<OrtDeviceEpIncompatibilityDetails, void (*)(OrtDeviceEpIncompatibilityDetails*)> owned(
      details, [](OrtDeviceEpIncompatibilityDetails* d) { api().ReleaseDeviceEpIncompatibilityDetails(d); });
  uint32_t reasons = 0;
  int32_t code = 0;
  const char* notes = nullptr;
  check(api().DeviceEpIncompatibilityDetails_GetReasonsBitmask(details, &reasons));
  check(api().DeviceEpIncompatibilityDetails_GetNotes(details, &notes));
  check(api().DeviceEpIncompatibilityDetails_GetErrorCode(details, &code));
  nb::dict result;
  result["reasons_bitmask"] = reasons;
  result["notes"] = notes && *notes ? nb::object(nb::str(notes)) : nb::none();
  result["error_code"] = code;
  return result;
}

template <class T>
bool equal(const T& left, nb::handle right) {
  T* other = nullptr;
  return nb::try_cast(right, other) && other && left == *other;
}

template <class T>
intptr_t hash(const T& view) {
  return static_cast<intptr_t>(reinterpret_cast<uintptr_t>(view.handle) >> 4);
}

void bind_hardware(nb::module_& m) {
  nb::enum_<OrtHardwareDeviceType> type(m, "OrtHardwareDeviceType", nb::is_arithmetic());
  type.value("CPU", OrtHardwareDeviceType_CPU)
      .value("GPU", OrtHardwareDeviceType_GPU)
      .value("NPU", OrtHardwareDeviceType_NPU);
  finish_enum(type);
  nb::class_<HardwareDevice>(m, "OrtHardwareDevice", nb::is_weak_referenceable(),
                             "A processor, graphics card or accelerator that the engine found.")
      .def_prop_ro(
          "type", [](const HardwareDevice& d) { return api().HardwareDevice_Type(d.handle); }, "Kind of the hardware.")
      .def_prop_ro(
          "vendor_id", [](const HardwareDevice& d) { return api().HardwareDevice_VendorId(d.handle); },
          "PCI number of the vendor.")
      .def_prop_ro(
          "vendor", [](const HardwareDevice& d) { return std::string(api().HardwareDevice_Vendor(d.handle)); },
          "Name of the vendor.")
      .def_prop_ro(
          "device_id", [](const HardwareDevice& d) { return api().HardwareDevice_DeviceId(d.handle); },
          "PCI number of the model of the device.")
      .def_prop_ro(
          "metadata", [](const HardwareDevice& d) { return pairs_of(api().HardwareDevice_Metadata(d.handle)); },
          "More facts about the hardware, as texts.")
      .def("__eq__", &equal<HardwareDevice>)
      .def("__hash__", &hash<HardwareDevice>);
  m.def("get_hardware_devices", &get_hardware_devices, "The hardware that the engine found.");
}

void bind_streams(nb::module_& m) {
  nb::class_<SyncStream>(m, "OrtSyncStream", nb::is_weak_referenceable(),
                         "A stream of a device, on which copies and runs are ordered.")
      .def(
          "get_handle",
          [](const SyncStream& s) { return reinterpret_cast<uintptr_t>(api().SyncStream_GetHandle(s.get())); },
          "Address of the provider's own stream object.");
}

void bind_ep_device(nb::module_& m) {
  nb::class_<EpDevice>(m, "OrtEpDevice", nb::is_weak_referenceable(),
                       "A hardware device together with an execution provider that can use it.")
      .def_prop_ro(
          "ep_name", [](const EpDevice& d) { return std::string(api().EpDevice_EpName(d.handle)); },
          "Name of the execution provider.")
      .def_prop_ro(
          "ep_vendor", [](const EpDevice& d) { return std::string(api().EpDevice_EpVendor(d.handle)); },
          "Who made the execution provider.")
      .def_prop_ro(
          "ep_metadata", [](const EpDevice& d) { return pairs_of(api().EpDevice_EpMetadata(d.handle)); },
          "Facts about the provider on this device.")
      .def_prop_ro(
          "ep_options", [](const EpDevice& d) { return pairs_of(api().EpDevice_EpOptions(d.handle)); },
          "Options that the provider uses for this device unless others are given.")
      .def_prop_ro(
          "device", [](const EpDevice& d) { return HardwareDevice{api().EpDevice_Device(d.handle)}; }, "The hardware.")
      .def("memory_info", &memory_info, nb::arg("memory_type"),
           "Memory of the device, or memory of the host that the device reads. RuntimeError if it has none of this "
           "kind.")
      .def("create_sync_stream", &create_sync_stream, "A new stream on this device.")
      .def("memory_capacity", &memory_capacity, nb::arg("memory_type") = OrtDeviceMemoryType_DEFAULT,
           "Total and available bytes of the device's memory, as the provider reports them.")
      .def("__eq__", &equal<EpDevice>)
      .def("__hash__", &hash<EpDevice>);
  m.def("get_ep_devices", &get_ep_devices, "Every pair of execution provider and hardware that sessions can use.");
}

void bind_compatibility(nb::module_& m) {
  nb::enum_<OrtCompiledModelCompatibility> level(m, "OrtCompiledModelCompatibility", nb::is_arithmetic());
  level.value("EP_NOT_APPLICABLE", OrtCompiledModelCompatibility_EP_NOT_APPLICABLE)
      .value("EP_SUPPORTED_OPTIMAL", OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL)
      .value("EP_SUPPORTED_PREFER_RECOMPILATION", OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION)
      .value("EP_UNSUPPORTED", OrtCompiledModelCompatibility_EP_UNSUPPORTED);
  finish_enum(level);
  nb::enum_<OrtDeviceEpIncompatibilityReason> reason(m, "OrtDeviceEpIncompatibilityReason", nb::is_arithmetic());
  reason.value("NONE", OrtDeviceEpIncompatibility_NONE)
      .value("DRIVER_INCOMPATIBLE", OrtDeviceEpIncompatibility_DRIVER_INCOMPATIBLE)
      .value("DEVICE_INCOMPATIBLE", OrtDeviceEpIncompatibility_DEVICE_INCOMPATIBLE)
      .value("MISSING_DEPENDENCY", OrtDeviceEpIncompatibility_MISSING_DEPENDENCY)
      .value("UNKNOWN", OrtDeviceEpIncompatibility_UNKNOWN);
  finish_enum(reason);
  m.def("get_model_compatibility_for_ep_devices", &compatibility, nb::arg("ep_devices"), nb::arg("compatibility_info"),
        "Whether devices of one provider can use a model that was compiled with this compatibility text.");
  m.def("get_hardware_device_ep_incompatibility_details", &incompatibility, nb::arg("ep_name"), nb::arg("device"),
        "Known reasons why a provider cannot use this hardware: reasons_bitmask, notes, error_code.");
}

}  // namespace

std::vector<const OrtEpDevice*> ep_devices() {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  check(api().GetEpDevices(&env(), &devices, &count));
  return {devices, devices + count};
}

std::vector<const OrtEpDevice*> devices_of(const std::string& provider) {
  std::vector<const OrtEpDevice*> result;
  for (const OrtEpDevice* device : ep_devices()) {
    if (provider == api().EpDevice_EpName(device)) {
      result.push_back(device);
    }
  }
  return result;
}

DeviceKey key_of(const OrtEpDevice* device) {
  const OrtHardwareDevice* hardware = api().EpDevice_Device(device);
  return {api().EpDevice_EpName(device), api().HardwareDevice_Type(hardware), api().HardwareDevice_VendorId(hardware),
          api().HardwareDevice_DeviceId(hardware)};
}

const OrtEpDevice* device_of(const DeviceKey& key) {
  for (const OrtEpDevice* device : devices_of(key.provider)) {
    if (key_of(device) == key) {
      return device;
    }
  }
  throw Error(ORT_NOT_FOUND, "no device of the provider '" + key.provider + "' with vendor " +
                                 std::to_string(key.vendor) + " and id " + std::to_string(key.id) +
                                 " is registered in this process; register the provider's library first");
}

void bind_devices(nb::module_& m) {
  bind_hardware(m);
  bind_streams(m);
  bind_ep_device(m);
  bind_compatibility(m);
  m.def("register_execution_provider_library", &register_library, nb::arg("registration_name"), nb::arg("library_path"),
        "Opens a plug-in library and adds the devices of its providers. The name is for unregistering.");
  m.def("unregister_execution_provider_library", &unregister_library, nb::arg("registration_name"),
        "Removes the devices of a plug-in library. All sessions that use them must be gone.");
  m.def("copy_tensors", &copy_tensors, nb::arg("src"), nb::arg("dst"), nb::arg("stream").none(),
        "Copies tensors between devices, into tensors of the same type and shape.");
}

}  // namespace retort::python
