// The library that loaded us, and how errors go back to it.
#pragma once
#include <onnxruntime_c_api.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "control.h"

namespace loopback {

/// Functions of the library that opened this one. A process may hold several such libraries, so nothing here is global.
struct Host {
  const OrtApi* api = nullptr;
  const OrtEpApi* ep = nullptr;
  const OrtModelEditorApi* editor = nullptr;
};

/// Inside, errors are exceptions. None may leave through a C function: see `entry`.
class Error : public std::runtime_error {
 public:
  Error(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code(code) {}
  explicit Error(const std::string& message) : Error(ORT_EP_FAIL, message) {}
  const OrtErrorCode code;
};

/// Throws what a status of the host's says, and releases it; nothing for null.
void check(const Host& host, OrtStatus* status);
/// The exception that is being handled, as a status.
OrtStatus* caught(const Host& host, const char* name) noexcept;

/// The body of a function that the host calls: fails where a test wants it to, and turns exceptions into a status.
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

/// A tensor's place and shape, read from a value of the host's.
struct Tensor {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  std::vector<int64_t> shape;
  void* data = nullptr;
  size_t elements() const;
};
/// Address, shape and type; `data` is an address on the device where the value lies there.
Tensor tensor_of(const Host& host, const OrtValue* value);
size_t bytes_of(const Host& host, const OrtValue* value);

/// The device that a value lies on (0 or 1), or -1 for the host, where pinned memory belongs too.
int device_of(const Host& host, const OrtMemoryDevice* where);
int device_of(const Host& host, const OrtValue* value);
/// Whether that device can read and write the value: its own memory, or pinned memory of it.
bool reaches(const Host& host, int device, const OrtValue* value);
/// For messages: "on the host", "on device 1".
std::string place_of(const Host& host, const OrtValue* value);
bool is_pinned(const Host& host, const OrtValue* value);

/// Who we are to the host: memory is known by its kind, vendor and device number.
constexpr uint32_t kVendor = 0x100b;
constexpr int kDevices = 2;

}  // namespace loopback
