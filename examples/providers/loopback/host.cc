#include "host.h"

namespace loopback {

void check(const Host& host, OrtStatus* status) {
  if (!status) return;
  const OrtErrorCode code = host.api->GetErrorCode(status);
  const std::string message = host.api->GetErrorMessage(status);
  host.api->ReleaseStatus(status);
  throw Error(code, message);
}

OrtStatus* caught(const Host& host, const char* name) noexcept {
  const auto said = [&](OrtErrorCode code, const char* what) {
    return host.api->CreateStatus(code, (std::string("loopback: ") + name + ": " + what).c_str());
  };
  try {
    throw;
  } catch (const Error& e) {
    return said(e.code, e.what());
  } catch (const std::exception& e) {
    return said(ORT_EP_FAIL, e.what());
  } catch (...) {
    return said(ORT_EP_FAIL, "an unknown error");
  }
}

size_t Tensor::elements() const {
  size_t n = 1;
  for (const int64_t d : shape) n *= size_t(d);
  return n;
}

Tensor tensor_of(const Host& host, const OrtValue* value) {
  Tensor t;
  const void* data = nullptr;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  size_t rank = 0;
  check(host, host.api->GetTensorTypeAndShape(value, &info));
  try {
    check(host, host.api->GetTensorElementType(info, &t.type));
    check(host, host.api->GetDimensionsCount(info, &rank));
    t.shape.resize(rank);
    check(host, host.api->GetDimensions(info, t.shape.data(), rank));
  } catch (...) {
    host.api->ReleaseTensorTypeAndShapeInfo(info);
    throw;
  }
  host.api->ReleaseTensorTypeAndShapeInfo(info);
  check(host, host.api->GetTensorData(value, &data));
  t.data = const_cast<void*>(data);
  return t;
}

size_t bytes_of(const Host& host, const OrtValue* value) {
  size_t bytes = 0;
  check(host, host.api->GetTensorSizeInBytes(value, &bytes));
  return bytes;
}

namespace {

int memory_of(const Host& host, const OrtMemoryDevice* where, OrtDeviceMemoryType kind) {
  const bool ours = where && host.ep->MemoryDevice_GetVendorId(where) == kVendor &&
                    host.ep->MemoryDevice_GetDeviceType(where) == OrtMemoryInfoDeviceType_GPU &&
                    host.ep->MemoryDevice_GetMemoryType(where) == kind;
  return ours ? int(host.ep->MemoryDevice_GetDeviceId(where)) : -1;
}

}  // namespace

int device_of(const Host& host, const OrtMemoryDevice* where) {
  return memory_of(host, where, OrtDeviceMemoryType_DEFAULT);
}

bool reaches(const Host& host, int device, const OrtValue* value) {
  const OrtMemoryDevice* where = host.ep->Value_GetMemoryDevice(value);
  return device_of(host, where) == device || memory_of(host, where, OrtDeviceMemoryType_HOST_ACCESSIBLE) == device;
}

std::string place_of(const Host& host, const OrtValue* value) {
  const OrtMemoryDevice* where = host.ep->Value_GetMemoryDevice(value);
  if (where && host.ep->MemoryDevice_GetDeviceType(where) == OrtMemoryInfoDeviceType_CPU) return "on the host";
  const int device = device_of(host, where);
  return device < 0 ? "on another provider's device" : "on device " + std::to_string(device);
}

bool is_pinned(const Host& host, const OrtValue* value) {
  return memory_of(host, host.ep->Value_GetMemoryDevice(value), OrtDeviceMemoryType_HOST_ACCESSIBLE) >= 0;
}

int device_of(const Host& host, const OrtValue* value) {
  return device_of(host, host.ep->Value_GetMemoryDevice(value));
}

}  // namespace loopback
