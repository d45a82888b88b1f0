// Blocks of host memory for workspaces and packed weights.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>

namespace retort {

/// 64-byte aligned memory, untouched. Blocks of 2 MiB and more are mapped on their own, aligned to huge pages and
/// marked for them, and go back to the system when the last owner lets go. Throws ErrorCode::fail when there is none.
std::shared_ptr<void> allocate_block(size_t bytes);

/// Cuts pieces from blocks that grow with what was asked for: for things that live equally long, so that many small
/// ones share huge pages. A piece keeps its block alive, also after the pool. Thread-safe.
class BlockPool {
 public:
  /// 64-byte aligned, untouched; throws as allocate_block does.
  std::shared_ptr<void> allocate(size_t bytes);

 private:
  std::mutex mutex_;
  std::shared_ptr<void> block_;
  size_t used_ = 0, size_ = 0;  ///< of block_
  size_t total_ = 0;            ///< handed out so far
};

}  // namespace retort
