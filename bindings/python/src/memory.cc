#include "memory.h"

#include <string>

namespace retort::python {
namespace {

constexpr int8_t kDirectMl = 4;
constexpr uint32_t kNvidia = 0x10DE;
constexpr uint32_t kAmd = 0x1002;
constexpr uint32_t kMicrosoft = 0x1414;
constexpr uint32_t kHuawei = 0x19E5;

OrtMemoryInfoDeviceType type_in_c(int8_t type) {
  switch (type) {
    case Device::kGpu:
    case kDirectMl:
      return OrtMemoryInfoDeviceType_GPU;
    case Device::kFpga:
      return OrtMemoryInfoDeviceType_FPGA;
    case Device::kNpu:
      return OrtMemoryInfoDeviceType_NPU;
    default:
      return OrtMemoryInfoDeviceType_CPU;
  }
}

std::string text_of(const Device& device) {
  return std::string(device_name(device)) + " " + std::to_string(device.id) + " of vendor " +
         std::to_string(device.vendor) + (device.memory ? ", host accessible" : "");
}

// The devices of registered providers, for messages.
std::string known_devices() {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  check(api().GetEpDevices(&env(), &devices, &count));
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const OrtMemoryInfo* info = api().EpDevice_MemoryInfo(devices[i], OrtDeviceMemoryType_DEFAULT);
    if (info && !device_of(info).is_host()) {
      text += (text.empty() ? "" : "; ") + text_of(device_of(info));
    }
  }
  return text.empty() ? "no registered provider has memory of a device" : "devices with memory: " + text;
}

}  // namespace

const OrtMemoryInfo* host_memory() {
  // Never released: values that use it may outlive everything else.
  static const OrtMemoryInfo* const info =
      made<OrtMemoryInfo>(api().CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault).release();
  return info;
}

Owned<OrtMemoryInfo> memory_info_of(const Device& device) {
  if (device.type == Device::kCpu) {
    return made<OrtMemoryInfo>(api().CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault);
  }
  constexpr size_t kAnyAlignment = 0;
  return made<OrtMemoryInfo>(api().CreateMemoryInfo_V2, device_name(device), type_in_c(device.type), device.vendor,
                             static_cast<int32_t>(device.id), static_cast<OrtDeviceMemoryType>(device.memory),
                             kAnyAlignment, OrtDeviceAllocator);
}

Device device_of(const OrtMemoryInfo* info) {
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  api().MemoryInfoGetDeviceType(info, &type);
  int id = 0;
  check(api().MemoryInfoGetId(info, &id));
  Device device;
  device.type = static_cast<int8_t>(type);
  device.memory = static_cast<int8_t>(api().MemoryInfoGetDeviceMemType(info));
  device.vendor = api().MemoryInfoGetVendorId(info);
  device.id = static_cast<int16_t>(id);
  return device;
}

const OrtMemoryInfo* memory_of(const OrtValue* value) {
  const OrtMemoryInfo* info = nullptr;
  check(api().GetTensorMemoryInfo(value, &info));
  return info;
}

bool is_on_host(const OrtValue* tensor) {
  const OrtMemoryInfo* info = memory_of(tensor);
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  api().MemoryInfoGetDeviceType(info, &type);
  return type == OrtMemoryInfoDeviceType_CPU || device_of(info).is_host();
}

const char* device_name(const Device& device) {
  switch (device.type) {
    case Device::kCpu:
      return "Cpu";
    case Device::kGpu:
      return device.vendor == kNvidia      ? "Cuda"
             : device.vendor == kAmd       ? "Hip"
             : device.vendor == kMicrosoft ? "DML"
                                           : "Gpu";
    case Device::kFpga:
      return "Fpga";
    case Device::kNpu:
      return device.vendor == kHuawei ? "Cann" : "Npu";
    case kDirectMl:
      return "DML";
    default:
      return "Unknown";
  }
}

OrtAllocator* allocator_of(const OrtMemoryInfo* info) {
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
  api().MemoryInfoGetDeviceType(info, &type);
  if (type == OrtMemoryInfoDeviceType_CPU) {
    return default_allocator();
  }
  const Device device = device_of(info);
  OrtAllocator* allocator = nullptr;
  if (OrtStatus* status = api().GetSharedAllocator(&env(), info, &allocator)) {
    api().ReleaseStatus(status);  // the libraries differ in whether a missing allocator is an error
    allocator = nullptr;
  }
  if (!allocator) {
    throw Misuse(ORT_NOT_FOUND, "Can't allocate memory on device " + text_of(device) + ": " + known_devices() +
                                    "; register the library of a provider that has the device, and use its vendor id");
  }
  return allocator;
}

OrtAllocator* allocator_of(const Device& device) { return allocator_of(PlaceOf(device).get()); }

}  // namespace retort::python
