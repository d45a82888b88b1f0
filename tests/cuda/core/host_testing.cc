#include "host_testing.h"

struct OrtStatus {
  OrtErrorCode code;
  std::string text;
};

namespace providers::cuda {
namespace {

const TestPlace& place(const OrtMemoryDevice* d) { return *reinterpret_cast<const TestPlace*>(d); }
const TestValue& value(const OrtValue* v) { return *reinterpret_cast<const TestValue*>(v); }

OrtApi make_api() {
  OrtApi a{};
  a.CreateStatus = [](OrtErrorCode code, const char* text) noexcept { return new OrtStatus{code, text}; };
  a.GetErrorCode = [](const OrtStatus* s) noexcept { return s->code; };
  a.GetErrorMessage = [](const OrtStatus* s) noexcept { return s->text.c_str(); };
  a.ReleaseStatus = [](OrtStatus* s) noexcept { delete s; };
  a.GetTensorSizeInBytes = [](const OrtValue* v, size_t* bytes) noexcept -> OrtStatus* {
    *bytes = value(v).bytes;
    return nullptr;
  };
  a.GetTensorData = [](const OrtValue* v, const void** data) noexcept -> OrtStatus* {
    *data = value(v).data;
    return nullptr;
  };
  return a;
}

OrtEpApi make_ep_api() {
  OrtEpApi a{};
  a.SyncStream_GetImpl = [](const OrtSyncStream* s) noexcept { return reinterpret_cast<const OrtSyncStreamImpl*>(s); };
  a.Value_GetMemoryDevice = [](const OrtValue* v) noexcept {
    return reinterpret_cast<const OrtMemoryDevice*>(&value(v).place);
  };
  a.MemoryInfo_GetMemoryDevice = [](const OrtMemoryInfo* i) noexcept {
    return reinterpret_cast<const OrtMemoryDevice*>(i);
  };
  a.MemoryDevice_GetDeviceType = [](const OrtMemoryDevice* d) noexcept { return place(d).type; };
  a.MemoryDevice_GetMemoryType = [](const OrtMemoryDevice* d) noexcept { return place(d).kind; };
  a.MemoryDevice_GetVendorId = [](const OrtMemoryDevice* d) noexcept { return place(d).vendor; };
  a.MemoryDevice_GetDeviceId = [](const OrtMemoryDevice* d) noexcept { return place(d).device; };
  return a;
}

}  // namespace

void use_test_host() {
  static const OrtApi& api = *new OrtApi(make_api());
  static const OrtEpApi& ep_api = *new OrtEpApi(make_ep_api());
  host() = {&api, &ep_api};
}

std::string message(OrtStatus* status) {
  if (!status) return "";
  const std::string text = status->text;
  delete status;
  return text;
}

}  // namespace providers::cuda
