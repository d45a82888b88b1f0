// The allocators and copies that the host uses.
#pragma once
#include "host.h"

namespace loopback {

/// An allocator for memory of a device, or for pinned host memory. `info` belongs to the caller and must outlive it.
OrtAllocator* make_allocator(const OrtMemoryInfo* info, int device, bool pinned);
void release_allocator(OrtAllocator* allocator);

/// Copies between host and devices, and between devices.
OrtDataTransferImpl* make_transfer(const Host& host);
/// Copies one tensor to another, on the stream (one of this provider's, or null).
class Stream;
void copy_tensor(const Host& host, const OrtValue* from, OrtValue* to, Stream* stream);

}  // namespace loopback
