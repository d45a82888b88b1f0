// The driver's functions for devices, contexts and errors, and what tests ask for.
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "counts.h"
#include "device.h"

// All of them, so that the compiler compares their arguments.
#define F(name, symbol, arguments) extern "C" __attribute__((visibility("default"))) int symbol arguments;
namespace providers::cuda {
RETORT_CUDA_DRIVER(F)
}
#undef F

using namespace software_cuda;
using providers::cuda::CUdevice;

static bool initialized = false;

EXPORT int cuInit(unsigned flags) {
  if (flags) return kInvalidValue;
  initialized = true;
  return device_count() ? kSuccess : 100;  // CUDA_ERROR_NO_DEVICE
}

EXPORT int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

EXPORT int cuDeviceGetCount(int* count) {
  if (!initialized) return kNotInitialized;
  *count = device_count();
  return kSuccess;
}

EXPORT int cuDeviceGet(CUdevice* device, int ordinal) {
  if (!initialized) return kNotInitialized;
  if (ordinal < 0 || ordinal >= device_count()) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

static bool is_device(CUdevice device) { return device >= 0 && device < device_count(); }

EXPORT int cuDeviceGetName(char* name, int length, CUdevice device) {
  if (!is_device(device)) return kInvalidDevice;
  std::snprintf(name, size_t(length), "Software CUDA device");
  return kSuccess;
}

EXPORT int cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  if (!is_device(device)) return kInvalidDevice;
  switch (attribute) {
    case 1:
      *value = 1024;
      break;  // threads of a block
    case 8:
      *value = 49152;
      break;  // shared memory of a block
    case 10:
      *value = 32;
      break;  // lanes of a warp
    case 12:
      *value = 65536;
      break;  // registers of a block
    case 16:
      *value = 4;
      break;  // multiprocessors
    case 33:
      *value = device + 1;
      break;  // PCI bus
    case 34:
    case 50:
      *value = 0;
      break;  // PCI device and domain
    case 38:
      *value = 4 << 20;
      break;  // second-level cache
    case 39:
      *value = 2048;
      break;  // threads of a multiprocessor
    case 75:
      *value = architecture() / 10;
      break;
    case 76:
      *value = architecture() % 10;
      break;
    case 81:
      *value = int(kMostSharedOfProcessor);
      break;
    case 97:
      *value = int(kMostSharedOfBlock);
      break;
    case 115:
      *value = 1;
      break;  // memory pools
    default:
      return kInvalidValue;
  }
  return kSuccess;
}

EXPORT int cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  if (!is_device(device)) return kInvalidDevice;
  *bytes = memory(device).capacity();
  return kSuccess;
}

EXPORT int cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  if (!is_device(device)) return kInvalidDevice;
  std::snprintf(text, size_t(length), "0000:%02X:00.0", device + 1);
  return kSuccess;
}

EXPORT int cuDevicePrimaryCtxRetain(CUcontext* made, CUdevice device) {
  if (!initialized) return kNotInitialized;
  if (!is_device(device)) return kInvalidDevice;
  *made = context(device);
  return kSuccess;
}

EXPORT int cuCtxSetCurrent(CUcontext wanted) {
  if (wanted && device_of(wanted) < 0) return kInvalidContext;
  current() = wanted;
  return kSuccess;
}

EXPORT int cuCtxGetCurrent(CUcontext* is) {
  *is = current();
  return kSuccess;
}

EXPORT int cuCtxSynchronize() {
  const int device = current_device();
  if (device < 0) return kInvalidContext;
  if (const CUresult result = Streams::get().forbid_in_capture()) return result;
  Streams::get().wait_for_all(device);
  return kSuccess;
}

EXPORT int cuMemGetInfo_v2(size_t* available, size_t* total) {
  const int device = current_device();
  if (device < 0) return kInvalidContext;
  *total = memory(device).capacity();
  *available = *total - memory(device).used();
  return kSuccess;
}

struct ErrorText {
  int code;
  const char *name, *text;
};
static const ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kNoMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kTooManyResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "an earlier call made the capture invalid"},
    {kCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "the call would merge two captures"},
    {kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture began in another stream"},
    {kCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "captured work does not join the stream it began in"},
    {kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "captured work depends on work that is not captured"},
    {kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the legacy stream depends on a capturing stream"},
    {kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT", "the event was recorded in a capture"},
    {kCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture began in another thread"},
};

static const ErrorText* find_error(int code) {
  for (const ErrorText& e : kErrors)
    if (e.code == code) return &e;
  return nullptr;
}

EXPORT int cuGetErrorName(CUresult error, const char** text) {
  const ErrorText* const e = find_error(error);
  *text = e ? e->name : nullptr;
  return e ? kSuccess : kInvalidValue;
}

EXPORT int cuGetErrorString(CUresult error, const char** text) {
  const ErrorText* const e = find_error(error);
  *text = e ? e->text : nullptr;
  return e ? kSuccess : kInvalidValue;
}

/// For tests: what was done, and what is alive, on all devices. Checks the bytes around all blocks.
EXPORT void SoftwareCudaCounts(SoftwareCudaCounted* out) {
  const Counts& c = counts();
  *out = {};
  out->allocations = c.allocations;
  for (int d = 0; d < device_count(); ++d) {
    memory(d).check();
    out->blocks += memory(d).blocks();
    out->bytes += int64_t(memory(d).used());
  }
  out->pinned = PinnedMemory::get().blocks();
  out->streams = Streams::get().stream_count();
  out->events = Streams::get().event_count();
  out->modules = c.modules;
  out->graphs = c.graphs;
  out->execs = c.execs;
  out->to_device = c.to_device;
  out->to_host = c.to_host;
  out->on_device = c.on_device;
  out->fills = c.fills;
  out->launches = c.launches;
  out->kernels = c.kernels;
  out->graph_launches = c.graph_launches;
}
