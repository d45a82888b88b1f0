// OrtDevice, OrtMemoryInfo and their enumerations.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include "enums.h"
#include "memory.h"
#include "rooms.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

void bind_enums(nb::module_& m) {
  nb::enum_<OrtAllocatorType> allocator(m, "OrtAllocatorType", nb::is_arithmetic());
  allocator.value("INVALID", OrtInvalidAllocator)
      .value("ORT_DEVICE_ALLOCATOR", OrtDeviceAllocator)
      .value("ORT_ARENA_ALLOCATOR", OrtArenaAllocator);
  finish_enum(allocator);
  nb::enum_<OrtMemType> memory(m, "OrtMemType", nb::is_arithmetic());
  memory.value("CPU_INPUT", OrtMemTypeCPUInput)
      .value("CPU_OUTPUT", OrtMemTypeCPUOutput)
      .value("DEFAULT", OrtMemTypeDefault);
  add_alias(memory, "CPU", "CPU_OUTPUT");
  finish_enum(memory);
  nb::enum_<OrtDeviceMemoryType> kind(m, "OrtDeviceMemoryType", nb::is_arithmetic());
  kind.value("DEFAULT", OrtDeviceMemoryType_DEFAULT).value("HOST_ACCESSIBLE", OrtDeviceMemoryType_HOST_ACCESSIBLE);
  finish_enum(kind);
  nb::enum_<OrtMemoryInfoDeviceType> device(m, "OrtMemoryInfoDeviceType", nb::is_arithmetic());
  device.value("CPU", OrtMemoryInfoDeviceType_CPU)
      .value("GPU", OrtMemoryInfoDeviceType_GPU)
      .value("NPU", OrtMemoryInfoDeviceType_NPU)
      .value("FPGA", OrtMemoryInfoDeviceType_FPGA);
  finish_enum(device);
}

Device make_device(int8_t type, int8_t memory, uint32_t vendor, int16_t id) {
  if (memory != OrtDeviceMemoryType_DEFAULT && memory != OrtDeviceMemoryType_HOST_ACCESSIBLE) {
    const std::string text = "OrtDevice: memory type " + std::to_string(memory) +
                             " is neither 0 (default) nor 5 (host "
                             "accessible)";
    throw nb::value_error(text.c_str());
  }
  return {type, memory, vendor, id};
}

std::string repr(const Device& device) {
  return std::string("OrtDevice(") + device_name(device) + ", id=" + std::to_string(device.id) +
         ", vendor=" + std::to_string(device.vendor) + (device.memory ? ", host accessible)" : ")");
}

void bind_device(nb::module_& m) {
  nb::class_<Device> device(m, "OrtDevice", "A device and one of its memories. Immutable.");
  device.def("__init__", [](Device* self, int8_t type, int8_t memory, uint32_t vendor, int16_t id) {
    new (self) Device(make_device(type, memory, vendor, id));
  });
  device.def("__init__", [](Device* self, int8_t type, int8_t memory, int16_t id) {
    new (self) Device(make_device(type, memory, 0, id));
  });
  device
      .def(
          "device_id", [](const Device& self) { return self.id; }, "The number of the device, from 0.")
      .def(
          "device_type", [](const Device& self) { return self.type; }, "0 CPU, 1 GPU, 2 FPGA, 3 NPU, 4 DirectML.")
      .def(
          "mem_type", [](const Device& self) { return self.memory; }, "0 the device's own, 5 host accessible.")
      .def(
          "vendor_id", [](const Device& self) { return self.vendor; }, "The PCI id of the vendor; 0: any.")
      .def(
          "__eq__", [](const Device& self, const Device& other) { return self == other; }, nb::is_operator())
      .def("__hash__",
           [](const Device& self) { return nb::hash(nb::make_tuple(self.type, self.memory, self.vendor, self.id)); })
      .def("__repr__", &repr)
      .def("__reduce__", [](const nb::object& self) {
        const auto& device = nb::cast<const Device&>(self);
        return nb::make_tuple(self.type(), nb::make_tuple(device.type, device.memory, device.vendor, device.id));
      });
  constexpr int8_t kDirectMl = 4;
  device.def_static("cpu", [] { return Device::kCpu; })
      .def_static("cuda", [] { return Device::kGpu; })
      .def_static("gpu", [] { return Device::kGpu; })
      .def_static("webgpu", [] { return Device::kGpu; })
      .def_static("fpga", [] { return Device::kFpga; })
      .def_static("npu", [] { return Device::kNpu; })
      .def_static("cann", [] { return Device::kNpu; })
      .def_static("dml", [] { return kDirectMl; })
      .def_static("default_memory", [] { return static_cast<int8_t>(OrtDeviceMemoryType_DEFAULT); });
}

MemoryInfo make_info(const std::string& name, OrtAllocatorType type, int id, OrtMemType memory) {
  OrtMemoryInfo* info = nullptr;
  if (OrtStatus* status = api().CreateMemoryInfo(c_text(name), type, id, memory, &info)) {
    const std::string message = api().GetErrorMessage(status);
    api().ReleaseStatus(status);
    throw Misuse(ORT_INVALID_ARGUMENT, message);
  }
  return MemoryInfo(Owned<OrtMemoryInfo>(info));
}

std::string name_of(const MemoryInfo& info) {
  const char* name = nullptr;
  check(api().MemoryInfoGetName(info.get(), &name));
  return name;
}

OrtAllocatorType allocator_type_of(const MemoryInfo& info) {
  OrtAllocatorType type = OrtInvalidAllocator;
  check(api().MemoryInfoGetType(info.get(), &type));
  return type;
}

OrtMemType mem_type_of(const MemoryInfo& info) {
  OrtMemType type = OrtMemTypeDefault;
  check(api().MemoryInfoGetMemType(info.get(), &type));
  return type;
}

bool same_memory(const MemoryInfo& a, const MemoryInfo& b) {
  int different = 0;
  check(api().CompareMemoryInfo(a.get(), b.get(), &different));
  return different == 0;
}

MemoryInfo create_v2(const std::string& name, OrtMemoryInfoDeviceType type, uint32_t vendor, int32_t id,
                     OrtDeviceMemoryType memory, size_t alignment, OrtAllocatorType allocator) {
  return MemoryInfo(
      made<OrtMemoryInfo>(api().CreateMemoryInfo_V2, c_text(name), type, vendor, id, memory, alignment, allocator));
}

void bind_info(nb::module_& m) {
  nb::class_<MemoryInfo> info(m, "OrtMemoryInfo", "Describes a memory: a device, and how it is allocated. Immutable.");
  info.def("__init__", [](MemoryInfo* self, const std::string& name, OrtAllocatorType type, int id, OrtMemType memory) {
    new (self) MemoryInfo(make_info(name, type, id, memory));
  });
  info.def_static(
      "create_v2", &create_v2,
      "create_v2(name, device type, vendor id, device id, memory type, alignment in bytes, allocator type)");
  info.def_prop_ro("name", &name_of, "The name that the maker of the memory gave it.")
      .def_prop_ro("allocator_type", &allocator_type_of, "OrtAllocatorType")
      .def_prop_ro("mem_type", &mem_type_of, "OrtMemType")
      .def_prop_ro(
          "device_id", [](const MemoryInfo& self) { return device_of(self.get()).id; }, "The device, from 0.")
      .def_prop_ro(
          "device_mem_type", [](const MemoryInfo& self) { return api().MemoryInfoGetDeviceMemType(self.get()); },
          "OrtDeviceMemoryType")
      .def_prop_ro(
          "device_vendor_id", [](const MemoryInfo& self) { return device_of(self.get()).vendor; },
          "The PCI id of the vendor; 0: any.")
      .def("__eq__", &same_memory, nb::is_operator())
      .def("__hash__", [](const MemoryInfo& self) { return nb::hash(nb::str(name_of(self).c_str())); })
      .def("__repr__", [](const MemoryInfo& self) {
        return "OrtMemoryInfo('" + name_of(self) + "', " + repr(device_of(self.get())) + ")";
      });
}

}  // namespace

void bind_memory(nb::module_& m) {
  bind_enums(m);
  bind_device(m);
  bind_info(m);
}

}  // namespace retort::python
