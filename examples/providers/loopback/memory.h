// What the host allocates and copies with.
#pragma once
#include "host.h"

namespace loopback {

/// An allocator for memory of a device, or for host memory that is pinned. `info` belongs to the caller and stays.
OrtAllocator* make_allocator(const OrtMemoryInfo* info, int device, bool pinned);
void release_allocator(OrtAllocator* allocator);

/// Copies between host and devices, and between devices.
OrtDataTransferImpl* make_transfer(const Host& host);
/// One tensor into another, on the stream (an own one of this provider, or null).
class Stream;
void copy_tensor(const Host& host, const OrtValue* from, OrtValue* to, Stream* stream);

}  // namespace loopback
