// session.packed_weights_cache: the file of the folder that holds the packed weights of a session.
#pragma once
#include <optional>
#include <string>

#include "base/log.h"
#include "memory/packed_cache.h"
#include "memory/shared_blocks.h"
#include "session/model_source.h"
#include "session/options.h"

namespace retort {

/// A folder for packed weights, which is made unless it exists. A new one that stays empty is removed.
class PackedFolder {
 public:
  /// Throws invalid_argument if the folder cannot be made.
  explicit PackedFolder(std::string path);
  PackedFolder(const PackedFolder&) = delete;
  ~PackedFolder();

 private:
  std::string path_;
  bool is_new_ = false;
};

/// The file for a model that was read from `source`.
class PackedFile {
 public:
  /// Opens the file, or a new one, if the options name a folder. Throws invalid_argument if the folder cannot be made.
  /// `weights` and `logger` must outlive the object.
  PackedFile(const SessionOptions& options, const ModelSource& source, SharedBlocks& weights, const Logger& logger);
  /// Null: the options name no folder, or weights cannot be kept, of which the log says why.
  PackedCache* cache() { return cache_ ? &*cache_ : nullptr; }

 private:
  std::optional<PackedFolder> folder_;  ///< first, so that it goes last
  std::optional<PackedCache> cache_;
};

}  // namespace retort
