// Caches of keys and values that grow by some rows per run. Tensors of shape [B, H, rows, D] lie in one block with room
// for more rows of every head, so the next tensor only needs its new rows written; earlier tensors do not include them.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace retort {

/// Memory for [heads, room, row_bytes], shared by the tensors that fill it one after the other.
struct RowBlock {
  std::shared_ptr<void> memory;
  size_t heads = 0, room = 0, row_bytes = 0;
  std::atomic<size_t> filled{0};  ///< rows of every head that belong to a tensor
};

/// The first rows of a block, which are the memory of a tensor until its elements are requested in row-major order
/// without gaps. Thread-safe.
class GrownRows {
 public:
  /// Returns the first `rows` rows of a new block with room for some more, uninitialised. `shape` is [B, H, rows, D].
  static std::shared_ptr<GrownRows> make(DType dtype, const Shape& shape);
  /// Returns these rows and `more` after them in the same block, uninitialised; null if the block has no room for them,
  /// or another tensor has taken it.
  std::shared_ptr<GrownRows> extended(size_t more) const;

  void* block() const { return block_->memory.get(); }
  size_t room() const { return block_->room; }
  size_t rows() const { return rows_; }
  /// Returns the elements without gaps, copied at the first call. From then on they are the tensor's memory, which its
  /// holder may write to.
  void* dense();
  bool is_dense() const { return is_dense_.load(std::memory_order_acquire); }

 private:
  GrownRows(std::shared_ptr<RowBlock> block, size_t rows) : block_(std::move(block)), rows_(rows) {}
  std::shared_ptr<RowBlock> block_;
  size_t rows_;
  std::mutex mutex_;
  std::shared_ptr<void> dense_;
  std::atomic<bool> is_dense_{false};
};

}  // namespace retort
