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

/// Which of a session's blocks: plans are counted as they are built, steps within their plan, blocks within their step.
struct PackedName {
  uint32_t plan = 0, step = 0, block = 0;
  auto operator<=>(const PackedName&) const = default;
};

/// Finds what the file holds, and writes the file anew where something was not found. What the file says is checked:
/// sizes and table in full, of each page of each block a line. Thread-safe but for the constructor and save().
class PackedCache {
 public:
  /// `key`: all that the content depends on. A file that is not there, of another key or broken holds nothing. `shared`:
  /// where other sessions of the process find the mapped file; may be null.
  PackedCache(std::string path, const Fingerprint& key, SharedBlocks* shared, const Logger& logger);

  uint32_t next_plan() { return plans_++; }
  /// A read-only block of the file; null when it has none of that name and size.
  std::shared_ptr<const void> find(const PackedName& name, size_t bytes);
  /// What was packed because find() had nothing.
  void add(const PackedName& name, std::shared_ptr<const void> block, size_t bytes);
  /// Puts all blocks into the file, unless it has them already or they are hardly worth a file. Other processes see the
  /// old file or the whole new one. Where it cannot be written that is logged, and nothing else happens.
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
  bool complete_ = true;  ///< nothing was added
  bool warned_ = false;
  uint32_t plans_ = 0;
};

}  // namespace retort
