// Compiled kernels in files, for later processes.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace providers::cuda {

/// A file per key in a folder. Failures to read or write are no errors: the kernel is compiled again. Thread-safe;
/// several processes may use one folder.
class KernelCache {
 public:
  static constexpr uint64_t kMostBytes = uint64_t(256) << 20;

  /// "" for none. The folder is made if it does not exist, for its owner alone. Files that were not used for the longest
  /// time are removed when all have more than `most_bytes`.
  explicit KernelCache(std::string folder, uint64_t most_bytes = kMostBytes);
  /// What was stored under the key, if the file is whole.
  std::optional<std::string> find(const std::string& key) const;
  void store(const std::string& key, const std::string& image);

  const std::string& folder() const { return folder_; }
  /// "", or why nothing can be written.
  const std::string& problem() const { return problem_; }

 private:
  std::string file_of(const std::string& key) const;
  void account(uint64_t bytes);

  const std::string folder_;
  const uint64_t most_bytes_;
  std::string problem_;
  std::mutex mutex_;      // of bytes_
  uint64_t bytes_ = 0;    // of all files, as far as this process knows
  bool counted_ = false;  // whether bytes_ has the existing files
};

}  // namespace providers::cuda
