// One copy of what is equal: packed weights and constants of the sessions of a process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "memory/mapping.h"

namespace retort {

/// Blocks that are alive and do not change any more, found by content or by the range of the file that they hold. Keeps
/// nothing alive: a block goes with the last of its owners. Thread-safe.
class SharedBlocks {
 public:
  /// A block of the same `bytes` bytes that was given before, else `block` itself, which later calls may then get: nobody
  /// may write to it any more. Blocks are compared byte by byte, so nothing has to say where their content comes from; a
  /// sample tells whether comparing is worth it. Blocks below 4 KiB are not worth it.
  std::shared_ptr<void> unify(std::shared_ptr<void> block, size_t bytes);

  /// What was kept for this range of a file and is alive, or null.
  std::shared_ptr<void> find(const FileRange& range);
  /// `block` begins with the content of the range.
  void keep(const FileRange& range, const std::shared_ptr<void>& block);

 private:
  using Content = std::pair<size_t, uint64_t>;  ///< bytes, and a sample of them
  void remove_dead();

  std::mutex mutex_;
  std::multimap<Content, std::weak_ptr<void>> by_content_;
  std::map<FileRange, std::weak_ptr<void>> by_range_;
  size_t remove_at_ = 64;  ///< entries at which those whose blocks are gone are looked for
};

}  // namespace retort
