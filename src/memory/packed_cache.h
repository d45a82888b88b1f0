// Packed weights in a file, for the next session or process that loads the same model (ADR 0011).
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/fingerprint.h"
#include "base/log.h"
#include "memory/shared_blocks.h"

namespace retort {

/// Identifies a block of a session: plans are counted in the order in which they are built, steps in their plan, blocks
/// in their step.
struct PackedName {
  uint32_t plan = 0, step = 0, block = 0;
  auto operator<=>(const PackedName&) const = default;
};

/// Finds blocks in the file, and rewrites the file if a block was not found. The content of the file is checked: sizes
/// and table completely, and one cache line of each page of each block. Thread-safe except for the constructor and
/// save().
class PackedCache {
 public:
  /// `key` covers everything that the content depends on. A file that does not exist, has another key or is damaged
  /// counts as empty. `shared` lets other sessions of the process find the mapped file; may be null.
  PackedCache(std::string path, const Fingerprint& key, SharedBlocks* shared, const Logger& logger);

  uint32_t next_plan() { return plans_++; }
  /// Returns a read-only block of the file; null if it has none of that name and size.
  std::shared_ptr<const void> find(const PackedName& name, size_t bytes);
  /// Adds a block that was packed because find() returned null.
  void add(const PackedName& name, std::shared_ptr<const void> block, size_t bytes);
  /// Writes all blocks to the file, unless they are already in it or too small to be worth a file. Other processes see
  /// either the old file or the complete new one. If it cannot be written, this is only logged. Throws if loading is
  /// cancelled meanwhile, and then leaves no file behind.
  void save();

 private:
  struct Entry;
  struct Block {
    std::shared_ptr<const void> memory;
    size_t bytes = 0;
    uint64_t sample = 0;  ///< of blocks in the file
  };
  void open();
  const char* read(const std::shared_ptr<void>& mapping, size_t size);
  const char* write(int file) const;

  const std::string path_;
  const Fingerprint key_;
  SharedBlocks* const shared_;
  const Logger& logger_;
  std::mutex mutex_;
  std::map<PackedName, Block> in_file_, used_;
  bool complete_ = true;  ///< whether add() has not been called
  bool warned_ = false;
  uint32_t plans_ = 0;
};

}  // namespace retort
