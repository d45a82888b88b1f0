// Copies between the host and devices, and between devices.
#pragma once
#include "stream.h"

namespace providers::cuda {

OrtDataTransferImpl* make_transfer();

/// A stream of the device for copies that the caller waits for. Never destroyed, like the device.
CUstream copy_stream(Device& device);
/// Copies from ordinary host memory, which may change as soon as this returns.
void upload(Address to, const void* from, size_t bytes, Device& device, CUstream stream);

/// Where a copy takes place: `stream` of `device`; without a stream the copy is done when the call returns.
struct CopyOrder {
  Device* device = nullptr;
  CUstream stream = nullptr;
};
/// Copies a tensor. Ordinary host memory may change as soon as this returns; pinned host memory, device memory and the
/// target must stay until the stream has done the copy.
void copy_tensor(const OrtValue* from, OrtValue* to, const CopyOrder& order);

}  // namespace providers::cuda
