// Blocks of host memory for workspaces and packed weights.
#pragma once
#include <cstddef>
#include <memory>

namespace retort {

/// 64-byte aligned memory, untouched. Blocks of 2 MiB and more are mapped on their own, aligned to huge pages and
/// marked for them, and go back to the system when the last owner lets go. Throws ErrorCode::fail when there is none.
std::shared_ptr<void> allocate_block(size_t bytes);

}  // namespace retort
