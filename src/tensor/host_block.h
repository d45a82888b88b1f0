// Large blocks of host memory.
#pragma once
#include <cstddef>
#include <memory>

namespace retort {

/// 64-byte aligned memory, uninitialised. Blocks of 1 MiB and more are separate mappings, aligned to huge pages and
/// marked for them as far as they fill at least half of one, and are returned to the system with their last owner.
/// Throws ErrorCode::fail if the allocation fails.
std::shared_ptr<void> allocate_block(size_t bytes);

/// The first bytes of a block of `bytes` that are marked for huge pages: whole ones, so perhaps more than `bytes`.
size_t huge_bytes(size_t bytes);

}  // namespace retort
