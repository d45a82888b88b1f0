// Device memory and pinned host memory for the host.
#pragma once
#include <memory>

#include "capture.h"
#include "place.h"

namespace providers::cuda {

/// `info`: of the memory; it must outlive the allocator. `captures`: of the session that it is for, or null.
OrtAllocator* make_allocator(const OrtMemoryInfo* info, std::shared_ptr<Captures> captures);
void release_allocator(OrtAllocator* allocator);

}  // namespace providers::cuda
