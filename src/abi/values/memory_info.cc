#include "abi/values/memory_info.h"

#include <array>
#include <deque>
#include <mutex>
#include <string_view>

#include "abi/slots.h"

namespace retort::abi {
namespace {

constexpr uint32_t kNvidia = 0x10de, kAmd = 0x1002, kIntel = 0x8086, kMicrosoft = 0x1414, kQualcomm = 0x5143;

/// The names that CreateMemoryInfo knows; use CreateMemoryInfo_V2 for all others.
struct Known {
  std::string_view asked, name;
  DeviceType device;
  MemoryKind kind;
  uint32_t vendor;
};
constexpr auto kDevice = MemoryKind::device, kHost = MemoryKind::host_accessible;
constexpr std::array<Known, 13> kKnown{{
    {"Cpu", "Cpu", DeviceType::cpu, kDevice, 0},
    {"Cuda", "Cuda", DeviceType::gpu, kDevice, kNvidia},
    {"CudaPinned", "CudaPinned", DeviceType::gpu, kHost, kNvidia},
    {"Hip", "Hip", DeviceType::gpu, kDevice, kAmd},
    {"HipPinned", "HipPinned", DeviceType::gpu, kHost, kAmd},
    {"DML", "DML", DeviceType::gpu, kDevice, kMicrosoft},
    {"OpenVINO_GPU", "OpenVINO_GPU", DeviceType::gpu, kDevice, kIntel},
    {"OpenVINO_RT_NPU", "OpenVINO_RT_NPU", DeviceType::npu, kDevice, kIntel},
    {"QnnHtpShared", "QnnHtpShared", DeviceType::cpu, kHost, kQualcomm},
    {"WebGPU_Buffer", "WebGPU_Buf", DeviceType::gpu, kDevice, 0},
    {"WebGPU_Buf", "WebGPU_Buf", DeviceType::gpu, kDevice, 0},
    {"WebNN_Tensor", "WebNN_Ten", DeviceType::gpu, kDevice, 0},
    {"WebNN_Ten", "WebNN_Ten", DeviceType::gpu, kDevice, 0},
}};

OrtMemoryInfo make(std::string_view name, MemorySpace space, OrtAllocatorType type, OrtMemType mem_type) {
  OrtMemoryInfo info;
  info.name = name;
  info.lie_in(space);
  info.allocator_type = type;
  info.mem_type = mem_type;
  return info;
}

/// The names that providers gave to spaces; never destroyed.
struct NamedSpaces {
  std::mutex mutex;
  std::deque<std::pair<MemorySpace, std::string>> all;
  static NamedSpaces& get() {
    static NamedSpaces& named = *new NamedSpaces;
    return named;
  }
};

std::string own_name(const MemorySpace& space) {
  NamedSpaces& named = NamedSpaces::get();
  const std::lock_guard lock(named.mutex);
  for (const auto& [known, name] : named.all) {
    if (known == space) return name;
  }
  return {};
}

}  // namespace

void name_space(const MemorySpace& space, const std::string& name) {
  if (!own_name(space).empty()) return;
  NamedSpaces& named = NamedSpaces::get();
  const std::lock_guard lock(named.mutex);
  named.all.emplace_back(space, name);
}

const OrtMemoryInfo& cpu_memory_info() {
  static const OrtMemoryInfo& info = *new OrtMemoryInfo(make("Cpu", {}, OrtDeviceAllocator, OrtMemTypeDefault));
  return info;
}

const OrtMemoryInfo& interned(const OrtMemoryInfo& info) {
  if (info == cpu_memory_info()) return cpu_memory_info();
  static std::mutex& mutex = *new std::mutex;
  static std::deque<OrtMemoryInfo>& all = *new std::deque<OrtMemoryInfo>;
  const std::lock_guard lock(mutex);
  for (const OrtMemoryInfo& known : all) {
    if (known == info) return known;
  }
  return all.emplace_back(info);
}

const OrtMemoryInfo& info_of(const MemorySpace& space) {
  if (space == MemorySpace{}) return cpu_memory_info();
  const OrtMemType mem_type = space.kind == kHost ? OrtMemTypeCPUOutput : OrtMemTypeDefault;
  if (const std::string own = own_name(space); !own.empty())
    return interned(make(own, space, OrtDeviceAllocator, mem_type));
  for (const Known& known : kKnown) {
    if (known.device == space.device && known.kind == space.kind && known.vendor == space.vendor_id) {
      return interned(make(known.name, space, OrtDeviceAllocator, mem_type));
    }
  }
  return interned(make("Device", space, OrtDeviceAllocator, mem_type));
}

OrtStatusPtr ORT_API_CALL CreateMemoryInfo(const char* name, OrtAllocatorType type, int id, OrtMemType mem_type,
                                           OrtMemoryInfo** out) noexcept {
  return guard([&] {
    const std::string_view asked = need_text(name, "name");
    need(out, "out");
    for (const Known& known : kKnown) {
      if (known.asked != asked) continue;
      // There is only one host, whatever device number a caller gives.
      MemorySpace space{known.device, known.kind, known.vendor, asked == "Cpu" ? 0 : id, 0};
      give(out, "out", std::make_unique<OrtMemoryInfo>(make(known.name, space, type, mem_type)));
      return;
    }
    fail(ErrorCode::invalid_argument,
         "memory '{}' is not a known name; use Cpu, or describe a device by its type and vendor (CreateMemoryInfo_V2), "
         "with any name",
         asked);
  });
}

OrtStatusPtr ORT_API_CALL CreateMemoryInfo_V2(const char* name, OrtMemoryInfoDeviceType device_type, uint32_t vendor_id,
                                              int32_t device_id, OrtDeviceMemoryType mem_type, size_t alignment,
                                              OrtAllocatorType allocator_type, OrtMemoryInfo** out) noexcept {
  return guard([&] {
    need_text(name, "name");
    need(out, "out");
    require(device_type >= OrtMemoryInfoDeviceType_CPU && device_type <= OrtMemoryInfoDeviceType_NPU,
            ErrorCode::invalid_argument, "device type {} does not exist", int(device_type));
    require(alignment <= UINT32_MAX, ErrorCode::invalid_argument, "alignment {} is too large", alignment);
    const MemoryKind kind = mem_type == OrtDeviceMemoryType_DEFAULT ? kDevice : kHost;
    give(out, "out",
         std::make_unique<OrtMemoryInfo>(
             make(name, {DeviceType(device_type), kind, vendor_id, device_id, uint32_t(alignment)}, allocator_type,
                  kind == kHost ? OrtMemTypeCPUOutput : OrtMemTypeDefault)));
  });
}

OrtStatusPtr ORT_API_CALL CreateCpuMemoryInfo(OrtAllocatorType type, OrtMemType mem_type,
                                              OrtMemoryInfo** out) noexcept {
  return CreateMemoryInfo("Cpu", type, 0, mem_type, out);
}

void ORT_API_CALL ReleaseMemoryInfo(OrtMemoryInfo* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL CompareMemoryInfo(const OrtMemoryInfo* info1, const OrtMemoryInfo* info2, int* out) noexcept {
  return guard([&] { need(out, "out") = handle(info1, "info1") == handle(info2, "info2") ? 0 : -1; });
}

OrtStatusPtr ORT_API_CALL MemoryInfoGetName(const OrtMemoryInfo* ptr, const char** out) noexcept {
  return guard([&] { need(out, "out") = handle(ptr, "ptr").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL MemoryInfoGetId(const OrtMemoryInfo* ptr, int* out) noexcept {
  return guard([&] { need(out, "out") = handle(ptr, "ptr").space.device_id; });
}

OrtStatusPtr ORT_API_CALL MemoryInfoGetMemType(const OrtMemoryInfo* ptr, OrtMemType* out) noexcept {
  return guard([&] { need(out, "out") = handle(ptr, "ptr").mem_type; });
}

OrtStatusPtr ORT_API_CALL MemoryInfoGetType(const OrtMemoryInfo* ptr, OrtAllocatorType* out) noexcept {
  return guard([&] { need(out, "out") = handle(ptr, "ptr").allocator_type; });
}

void ORT_API_CALL MemoryInfoGetDeviceType(const OrtMemoryInfo* ptr, OrtMemoryInfoDeviceType* out) noexcept {
  if (ptr && out) *out = OrtMemoryInfoDeviceType(ptr->space.device);
}

OrtDeviceMemoryType ORT_API_CALL MemoryInfoGetDeviceMemType(const OrtMemoryInfo* ptr) noexcept {
  return ptr ? OrtDeviceMemoryType(ptr->space.kind) : OrtDeviceMemoryType_DEFAULT;
}

uint32_t ORT_API_CALL MemoryInfoGetVendorId(const OrtMemoryInfo* ptr) noexcept {
  return ptr ? ptr->space.vendor_id : 0;
}

namespace ep_api {

const OrtMemoryDevice* ORT_API_CALL MemoryInfo_GetMemoryDevice(const OrtMemoryInfo* memory_info) noexcept {
  return memory_info ? &memory_info->space : nullptr;
}

bool ORT_API_CALL MemoryDevice_AreEqual(const OrtMemoryDevice* a, const OrtMemoryDevice* b) noexcept {
  return a == b || (a && b && static_cast<const MemorySpace&>(*a) == *b);
}

OrtMemoryInfoDeviceType ORT_API_CALL MemoryDevice_GetDeviceType(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device ? OrtMemoryInfoDeviceType(memory_device->device) : OrtMemoryInfoDeviceType_CPU;
}

OrtDeviceMemoryType ORT_API_CALL MemoryDevice_GetMemoryType(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device ? OrtDeviceMemoryType(memory_device->kind) : OrtDeviceMemoryType_DEFAULT;
}

uint32_t ORT_API_CALL MemoryDevice_GetVendorId(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device ? memory_device->vendor_id : 0;
}

uint32_t ORT_API_CALL MemoryDevice_GetDeviceId(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device ? uint32_t(memory_device->device_id) : 0;
}

}  // namespace ep_api
}  // namespace retort::abi
