// Keeps one copy of equal memory: packed weights and constants of the sessions of a process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "memory/mapping.h"

namespace retort {

/// Finds blocks that are alive and do not change any more, by content or by the range of the file that they were read
/// from. Keeps no block alive: a block is freed with its last owner. Thread-safe.
class SharedBlocks {
 public:
  /// Returns a block with the same `bytes` bytes that was passed before, otherwise `block` itself, which later calls
  /// may then return: it must not be written to any more. Blocks are compared byte by byte, so their origin does not
  /// matter; a sample decides whether they are compared at all. Blocks below 4 KiB are not shared. Throws if loading is
  /// cancelled meanwhile (base/loading.h).
  std::shared_ptr<void> unify(std::shared_ptr<void> block, size_t bytes);

  /// The block kept for this range of a file if it is alive; otherwise null.
  std::shared_ptr<void> find(const FileRange& range);
  /// `block` begins with the content of the range.
  void keep(const FileRange& range, const std::shared_ptr<void>& block);

 private:
  using Content = std::pair<size_t, uint64_t>;  ///< number of bytes, and a sample of them
  void remove_dead();

  std::mutex mutex_;
  std::multimap<Content, std::weak_ptr<void>> by_content_;
  std::map<FileRange, std::weak_ptr<void>> by_range_;
  size_t remove_at_ = 64;  ///< number of entries at which entries of freed blocks are removed
};

}  // namespace retort
