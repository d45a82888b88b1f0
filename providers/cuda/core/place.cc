#include "place.h"

namespace providers::cuda {

void warn(const OrtLogger* log, const std::string& line) {
  if (!log) return;
  OrtStatus* status =
      api().Logger_LogMessage(log, ORT_LOGGING_LEVEL_WARNING, line.c_str(), "providers/cuda", 0, "warn");
  if (status) api().ReleaseStatus(status);
}

bool is_known(const OrtMemoryDevice* where) {
  const OrtMemoryInfoDeviceType type = ep_api().MemoryDevice_GetDeviceType(where);
  return type == OrtMemoryInfoDeviceType_CPU ||
         (type == OrtMemoryInfoDeviceType_GPU && ep_api().MemoryDevice_GetVendorId(where) == kNvidia);
}

Place place_of(const OrtMemoryDevice* where) {
  if (!where || ep_api().MemoryDevice_GetDeviceType(where) == OrtMemoryInfoDeviceType_CPU) return {};
  if (!is_known(where))
    throw Error(text("a value lies on a device of vendor ", ep_api().MemoryDevice_GetVendorId(where),
                     "; CUDA reaches memory of the host and of NVIDIA's devices"));
  const bool pinned = ep_api().MemoryDevice_GetMemoryType(where) == OrtDeviceMemoryType_HOST_ACCESSIBLE;
  return {pinned ? MemoryKind::pinned : MemoryKind::device, int(ep_api().MemoryDevice_GetDeviceId(where))};
}

bool on_host(const OrtValue* value) {
  const OrtMemoryInfo* info = nullptr;
  providers::check(api().GetTensorMemoryInfo(value, &info));
  OrtMemoryInfoDeviceType type{};
  api().MemoryInfoGetDeviceType(info, &type);
  return type == OrtMemoryInfoDeviceType_CPU;
}

}  // namespace providers::cuda
