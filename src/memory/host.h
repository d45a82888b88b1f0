// Blocks of host memory for constants and packed weights.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "tensor/host_block.h"
#include "tensor/tensor.h"

namespace retort {

/// A tensor for a constant that a pass of a loading makes, uninitialised. Those of 64 KiB to 1 MiB that a thread makes
/// share huge pages, each of which is freed with the last of them.
Tensor new_constant(DType dtype, const Shape& shape);
/// Whether the memory of `constant` is freed only with that of other constants.
bool shares_block(const Tensor& constant);

/// Returns memory that malloc holds free to the system: after loading, which frees many small blocks. Takes up to a
/// millisecond.
void trim_heap();

/// Divides blocks of the expected size (at most 32 MiB) into pieces, for data that lives equally long, so that many
/// small pieces share huge pages. Pieces of 16 MiB and more are blocks of their own. A piece keeps its block alive,
/// even after the pool is gone. Thread-safe.
class BlockPool {
 public:
  BlockPool() = default;
  /// Releases the pages that hold no piece any more.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;

  /// Announces that about `bytes` will be allocated from now on; anything beyond that comes from further, small blocks.
  void expect(size_t bytes);
  /// 64-byte aligned memory filled with zeros; throws like allocate_block.
  std::shared_ptr<void> allocate(size_t bytes);
  /// Returns a piece that is not needed after all; `bytes` is what was requested. `piece` must be the last copy of the
  /// pointer.
  void give_back(std::shared_ptr<void> piece, size_t bytes);

 private:
  struct Room {
    std::shared_ptr<void> memory;  ///< its first byte
    size_t size;
    size_t dirty;  ///< bytes at its beginning that are not zeros
  };
  std::mutex mutex_;
  std::vector<Room> open_;  ///< smaller pieces fill what larger ones have left
  size_t total_ = 0;        ///< bytes handed out so far
  size_t expected_ = 0;     ///< `total_` when everything expected has been allocated
};

}  // namespace retort
