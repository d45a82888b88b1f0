// The made-up devices.
#pragma once
#include "memory.h"
#include "queue.h"

namespace software_cuda {

using providers::cuda::CUcontext;

/// The most shared memory of a block and of a multiprocessor.
constexpr size_t kMostSharedOfBlock = 232448, kMostSharedOfProcessor = 233472;

/// SOFTWARE_CUDA_DEVICES, or 1.
int device_count();
/// 90, or SOFTWARE_CUDA_ARCHITECTURE.
int architecture();
DeviceMemory& memory(int device);
/// The one that has an address in its range; null for host memory.
DeviceMemory* memory_of(Address address);

/// The context of a device is the place of its number.
CUcontext context(int device);
/// -1 for what is no context.
int device_of(CUcontext context);
/// The context that is current on this thread, or null.
CUcontext& current();
/// The device of the current context; -1 without one.
int current_device();

}  // namespace software_cuda

#define EXPORT extern "C" __attribute__((visibility("default")))
