// The CUDA driver, opened at run time: its types, and a table of its functions. No header of the toolkit is needed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/api.h"

namespace providers::cuda {

using providers::check;  // of a status of the host

using Address = unsigned long long;  ///< of device memory (CUdeviceptr)
using CUresult = int;                ///< 0: success
using CUdevice = int;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
struct CUuuid {
  unsigned char bytes[16];
};
struct CUlaunchAttribute {
  int id, unused;
  int value[16];
};
struct CUlaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  CUstream stream;
  CUlaunchAttribute* attributes;
  unsigned attribute_count;
};

constexpr CUresult kNotReady = 600;            // CUDA_ERROR_NOT_READY: an event or stream has work left
constexpr CUresult kOutOfMemory = 2;           // CUDA_ERROR_OUT_OF_MEMORY
constexpr unsigned kStreamNonBlocking = 1;     // CU_STREAM_NON_BLOCKING
constexpr unsigned kEventDisableTiming = 2;    // CU_EVENT_DISABLE_TIMING
constexpr unsigned kHostAllocPortable = 1;     // CU_MEMHOSTALLOC_PORTABLE
constexpr int kCaptureThreadLocal = 1;         // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr int kCaptureNone = 0;                // CU_STREAM_CAPTURE_STATUS_NONE
constexpr int kFunctionMaxDynamicShared = 8;   // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int kProgrammaticSerialization = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
// CUdevice_attribute
constexpr int kMultiprocessors = 16, kPciBus = 33, kPciDevice = 34, kMajor = 75, kMinor = 76, kSharedOptIn = 97,
              kPciDomain = 50, kMaxThreadsPerMultiprocessor = 39;

// name in the table, exported symbol, arguments
#define RETORT_CUDA_DRIVER(F)                                                                                      \
  F(init, cuInit, (unsigned flags))                                                                                \
  F(version, cuDriverGetVersion, (int* version))                                                                   \
  F(device_count, cuDeviceGetCount, (int* count))                                                                  \
  F(device, cuDeviceGet, (CUdevice * device, int ordinal))                                                         \
  F(device_name, cuDeviceGetName, (char* name, int length, CUdevice device))                                       \
  F(device_attribute, cuDeviceGetAttribute, (int* value, int attribute, CUdevice device))                          \
  F(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                         \
  F(device_bus_id, cuDeviceGetPCIBusId, (char* text, int length, CUdevice device))                                 \
  F(primary_retain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                              \
  F(context_set, cuCtxSetCurrent, (CUcontext context))                                                             \
  F(context_get, cuCtxGetCurrent, (CUcontext * context))                                                           \
  F(context_synchronize, cuCtxSynchronize, ())                                                                     \
  F(memory_info, cuMemGetInfo_v2, (size_t * available, size_t * total))                                            \
  F(allocate, cuMemAlloc_v2, (Address * address, size_t bytes))                                                    \
  F(release, cuMemFree_v2, (Address address))                                                                      \
  F(host_allocate, cuMemHostAlloc, (void** memory, size_t bytes, unsigned flags))                                  \
  F(host_release, cuMemFreeHost, (void* memory))                                                                   \
  F(copy_async, cuMemcpyAsync, (Address to, Address from, size_t bytes, CUstream stream))                          \
  F(copy_to_device, cuMemcpyHtoDAsync_v2, (Address to, const void* from, size_t bytes, CUstream stream))           \
  F(copy_to_host, cuMemcpyDtoHAsync_v2, (void* to, Address from, size_t bytes, CUstream stream))                   \
  F(copy_on_device, cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, CUstream stream))               \
  F(fill_bytes, cuMemsetD8Async, (Address to, unsigned char value, size_t count, CUstream stream))                 \
  F(fill_words, cuMemsetD32Async, (Address to, unsigned value, size_t count, CUstream stream))                     \
  F(stream_create, cuStreamCreate, (CUstream * stream, unsigned flags))                                            \
  F(stream_destroy, cuStreamDestroy_v2, (CUstream stream))                                                         \
  F(stream_synchronize, cuStreamSynchronize, (CUstream stream))                                                    \
  F(stream_query, cuStreamQuery, (CUstream stream))                                                                \
  F(stream_wait_event, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                        \
  F(stream_is_capturing, cuStreamIsCapturing, (CUstream stream, int* status))                                      \
  F(capture_begin, cuStreamBeginCapture_v2, (CUstream stream, int mode))                                           \
  F(capture_end, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                           \
  F(graph_instantiate, cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags)) \
  F(graph_launch, cuGraphLaunch, (CUgraphExec exec, CUstream stream))                                              \
  F(graph_destroy, cuGraphDestroy, (CUgraph graph))                                                                \
  F(graph_exec_destroy, cuGraphExecDestroy, (CUgraphExec exec))                                                    \
  F(event_create, cuEventCreate, (CUevent * event, unsigned flags))                                                \
  F(event_record, cuEventRecord, (CUevent event, CUstream stream))                                                 \
  F(event_query, cuEventQuery, (CUevent event))                                                                    \
  F(event_synchronize, cuEventSynchronize, (CUevent event))                                                        \
  F(event_elapsed, cuEventElapsedTime, (float* milliseconds, CUevent begin, CUevent end))                          \
  F(event_destroy, cuEventDestroy_v2, (CUevent event))                                                             \
  F(module_load, cuModuleLoadData, (CUmodule * module, const void* image))                                         \
  F(module_unload, cuModuleUnload, (CUmodule module))                                                              \
  F(module_function, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))              \
  F(function_attribute_set, cuFuncSetAttribute, (CUfunction function, int attribute, int value))                   \
  F(launch, cuLaunchKernel,                                                                                        \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,   \
     unsigned block_z, unsigned shared_bytes, CUstream stream, void** parameters, void** extra))                   \
  F(launch_with, cuLaunchKernelEx,                                                                                 \
    (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra))                          \
  F(error_name, cuGetErrorName, (CUresult error, const char** text))                                               \
  F(error_text, cuGetErrorString, (CUresult error, const char** text))

/// The functions of libcuda.so.1. A failed call returns its code; `check` makes it an Error.
struct Driver {
#define F(name, symbol, arguments) CUresult(*name) arguments = nullptr;
  RETORT_CUDA_DRIVER(F)
#undef F
};

/// The driver, opened and initialised at the first call; null without one. Thread-safe.
const Driver* find_driver();
/// Why there is no driver, in one sentence; "" if there is one.
const std::string& driver_missing();
/// The driver; throws Error with driver_missing() without one.
const Driver& driver();
/// Throws Error, naming `what` was done and the driver's name and text of the code, unless `result` is 0.
void check(CUresult result, const char* what);

}  // namespace providers::cuda
