// Large blocks of host memory.
#pragma once
#include <cstddef>
#include <memory>

namespace retort {

/// 64-byte aligned memory, uninitialised. Blocks of 1 MiB and more are separate mappings, aligned to huge pages and
/// marked for them as far as they fill at least half of one, and are returned to the system with their last owner.
/// Throws ErrorCode::fail if the allocation fails.
std::shared_ptr<void> allocate_block(size_t bytes);

}  // namespace retort
