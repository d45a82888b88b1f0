// The library that loaded us, and how errors go back to it.
#pragma once
#include <onnxruntime_c_api.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace sample_provider {

/// What the provider is called by applications, and in the keys of its options.
constexpr const char* kName = "SampleProviderExecutionProvider";

/// Functions of the library that opened this one. A process may hold several such libraries, so nothing here is global.
struct Host {
  const OrtApi* api = nullptr;
  const OrtEpApi* ep = nullptr;
};

/// Inside, errors are exceptions. None may leave through a C function: see `entry`.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, OrtErrorCode code = ORT_EP_FAIL)
      : std::runtime_error(message), code(code) {}
  const OrtErrorCode code;
};

/// Throws what a status of the host's says, and releases it; nothing for null.
inline void check(const Host& host, OrtStatus* status) {
  if (!status) return;
  const Error error(host.api->GetErrorMessage(status), host.api->GetErrorCode(status));
  host.api->ReleaseStatus(status);
  throw error;
}

/// The body of a function that the host calls: exceptions become a status.
template <typename Body>
OrtStatus* entry(const Host& host, Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Error& e) {
    return host.api->CreateStatus(e.code, e.what());
  } catch (const std::exception& e) {
    return host.api->CreateStatus(ORT_EP_FAIL, e.what());
  }
}

/// A tensor of floats. Where the provider has memory of its own, `data` is an address of the device.
struct Tensor {
  std::vector<int64_t> shape;
  float* data = nullptr;
  size_t elements() const {
    size_t n = 1;
    for (const int64_t d : shape) n *= size_t(d);
    return n;
  }
};

/// What the host has under `value`, which keeps the memory.
inline Tensor tensor_of(const Host& host, const OrtValue* value) {
  Tensor t;
  size_t rank = 0;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(host, host.api->GetTensorTypeAndShape(value, &info));
  OrtStatus* status = host.api->GetDimensionsCount(info, &rank);
  t.shape.resize(rank);
  if (!status) status = host.api->GetDimensions(info, t.shape.data(), rank);
  host.api->ReleaseTensorTypeAndShapeInfo(info);
  check(host, status);
  void* data = nullptr;
  check(host, host.api->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  t.data = static_cast<float*>(data);
  return t;
}

/// Input `i` of a part or kernel that runs, and memory for its output `i`.
inline Tensor input_of(const Host& host, const OrtKernelContext* context, size_t i) {
  const OrtValue* value = nullptr;
  check(host, host.api->KernelContext_GetInput(context, i, &value));
  if (!value) throw Error("input " + std::to_string(i) + " was not given");
  return tensor_of(host, value);
}
inline Tensor output_of(const Host& host, OrtKernelContext* context, size_t i, const std::vector<int64_t>& shape) {
  OrtValue* value = nullptr;
  check(host, host.api->KernelContext_GetOutput(context, i, shape.data(), shape.size(), &value));
  return tensor_of(host, value);
}

}  // namespace sample_provider
