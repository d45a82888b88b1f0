// The library that loaded this one, and the conversion of errors.
#pragma once
#include <onnxruntime_c_api.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "control.h"

namespace loopback {

/// The functions of the library that opened this one. A process may have several such libraries, so nothing here is
/// global.
struct Host {
  const OrtApi* api = nullptr;
  const OrtEpApi* ep = nullptr;
  const OrtModelEditorApi* editor = nullptr;
};

/// Errors are exceptions inside the provider. None may leave a C function: see `entry`.
class Error : public std::runtime_error {
 public:
  Error(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code(code) {}
  explicit Error(const std::string& message) : Error(ORT_EP_FAIL, message) {}
  const OrtErrorCode code;
};

/// Throws the error of a status of the host, and releases the status; does nothing for null.
void check(const Host& host, OrtStatus* status);
/// The exception that is being handled, as a status.
OrtStatus* caught(const Host& host, const char* name) noexcept;

/// The body of a function that the host calls: fails if a test requests it, and converts exceptions to a status.
template <typename Body>
OrtStatus* entry(const Host& host, const char* name, Body&& body) noexcept {
  try {
    Control::get().fail_if_told(name);
    body();
    return nullptr;
  } catch (...) {
    return caught(host, name);
  }
}

/// Memory and shape of a tensor, read from a value of the host.
struct Tensor {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  std::vector<int64_t> shape;
  void* data = nullptr;
  size_t elements() const;
};
/// Address, shape and type; `data` is an address on the device if the value lies there.
Tensor tensor_of(const Host& host, const OrtValue* value);
size_t bytes_of(const Host& host, const OrtValue* value);

/// The device of a memory (0 or 1), or -1 for the host, which includes pinned memory.
int device_of(const Host& host, const OrtMemoryDevice* where);
int device_of(const Host& host, const OrtValue* value);
/// Whether that device can access the value: in its own memory, or in its pinned memory.
bool reaches(const Host& host, int device, const OrtValue* value);
/// For messages: "on the host", "on device 1".
std::string place_of(const Host& host, const OrtValue* value);
bool is_pinned(const Host& host, const OrtValue* value);

/// The vendor number of this provider: the host identifies memory by kind, vendor and device number.
constexpr uint32_t kVendor = 0x100b;
constexpr int kDevices = 2;

}  // namespace loopback
