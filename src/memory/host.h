// Blocks of host memory for workspaces and packed weights.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace retort {

/// 64-byte aligned memory, untouched. Blocks of 2 MiB and more are mapped on their own, aligned to huge pages and
/// marked for them, and go back to the system when the last owner lets go. Throws ErrorCode::fail when there is none.
std::shared_ptr<void> allocate_block(size_t bytes);

/// Returns what malloc holds free to the system: after loading, which frees much that was small. Takes up to a
/// millisecond.
void trim_heap();

/// Cuts pieces from blocks that grow with what was asked for: for things that live equally long, so that many small
/// ones share huge pages. A piece keeps its block alive, also after the pool. Thread-safe.
class BlockPool {
 public:
  /// 64-byte aligned, untouched; throws as allocate_block does.
  std::shared_ptr<void> allocate(size_t bytes);

 private:
  struct Block {
    std::shared_ptr<void> memory;
    size_t used, size;
  };
  std::mutex mutex_;
  std::vector<Block> open_;  ///< with room at the end; smaller pieces fill what a larger one left
  size_t total_ = 0;         ///< handed out so far
};

}  // namespace retort
