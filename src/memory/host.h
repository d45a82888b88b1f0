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

/// Cuts pieces from blocks as large as what is expected (32 MiB at most): for things that live equally long, so that many
/// small ones share huge pages. Pieces of 16 MiB and more are blocks of their own. A piece keeps its block alive, also
/// after the pool. Thread-safe.
class BlockPool {
 public:
  BlockPool() = default;
  /// Gives the pages back that hold nothing any more.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;

  /// About so much will be asked for from now on; what is more makes further, small blocks.
  void expect(size_t bytes);
  /// 64-byte aligned, zeros; throws as allocate_block does.
  std::shared_ptr<void> allocate(size_t bytes);
  /// The piece is not needed after all: `bytes` as it was asked for. It must be the last copy of the pointer.
  void give_back(std::shared_ptr<void> piece, size_t bytes);

 private:
  struct Room {
    std::shared_ptr<void> memory;  ///< its first byte
    size_t size;
    size_t dirty;  ///< bytes at its beginning that are not zeros
  };
  std::mutex mutex_;
  std::vector<Room> open_;  ///< smaller pieces fill what a larger one left
  size_t total_ = 0;        ///< handed out so far
  size_t expected_ = 0;     ///< at the end
};

}  // namespace retort
