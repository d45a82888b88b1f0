// Where the host's values lie, and the version of the host's interface.
#pragma once
#include <string>

#include "common/api.h"
#include "device.h"

namespace providers::cuda {

constexpr uint32_t kNvidia = 0x10de;  ///< vendor number, which the host uses to tell memory apart
constexpr const char* kName = "CUDAExecutionProvider";

/// The body of a function that C calls, like `guard`. No failure has the code ORT_EP_FAIL: the Python package of ONNX
/// Runtime takes it as a wish to make the session anew, on the processor.
template <typename F>
OrtStatus* entry(F&& body) noexcept {
  OrtStatus* const status = guard(body);
  if (!status || api().GetErrorCode(status) != ORT_EP_FAIL) return status;
  OrtStatus* const made = api().CreateStatus(ORT_FAIL, api().GetErrorMessage(status));
  api().ReleaseStatus(status);
  return made;
}

/// Writes a line to a log; does nothing for null.
void warn(const OrtLogger* log, const std::string& line);

enum class MemoryKind { host, pinned, device };
struct Place {
  MemoryKind kind = MemoryKind::host;
  int device = -1;  ///< -1: ordinary memory of the host
  bool on_device() const { return kind == MemoryKind::device; }
};

/// Throws Error for memory of another vendor's device.
Place place_of(const OrtMemoryDevice* where);
/// Whether `place_of` knows it.
bool is_known(const OrtMemoryDevice* where);

/// Whether a tensor lies in ordinary memory of the host, which kernels cannot read. Pinned memory is the device's, too.
bool on_host(const OrtValue* value);

}  // namespace providers::cuda
