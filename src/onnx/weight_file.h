// Files of weights: opens them for reading, maps them private and read-only, and recognises them later.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "memory/mapping.h"

namespace retort {

/// The file range of a tensor that read_model has mapped or copied from a mapped file; nullopt for all others. Equal
/// ranges have equal bytes, so packed forms can be shared between sessions.
std::optional<FileRange> file_range(const Tensor& tensor);

namespace onnx {

/// An open regular file.
class File {
 public:
  /// Throws no_such_file, or invalid_protobuf if it is not a regular file.
  static File open(const std::string& path);
  /// Opens `location`, a path relative to the folder, and refuses everything that leads out of it: absolute paths,
  /// "..", links, mounts of /proc. `by_hand` walks the path itself, as on kernels without openat2; links are then
  /// always refused. Throws no_such_file or invalid_argument.
  static File open_beneath(const std::string& folder, std::string_view location, bool by_hand = false);
  File(File&& other) noexcept : fd_(other.fd_), identity_(other.identity_) { other.fd_ = -1; }
  File& operator=(File&&) = delete;
  ~File();

  const FileIdentity& identity() const { return identity_; }
  size_t size() const { return identity_.size; }
  /// Maps the whole file, private and read-only; null if it is empty. The descriptor may be closed afterwards.
  std::shared_ptr<void> map() const;
  /// Reads bytes [offset, offset + size) into new memory; throws if the file has become shorter.
  std::shared_ptr<void> read(uint64_t offset, size_t size) const;

 private:
  explicit File(int fd, std::string_view name);
  int fd_;
  FileIdentity identity_;
};

/// Copies `bytes` of `owner` (may be null) into new memory that remembers the file range.
std::shared_ptr<void> copy_weight(std::string_view bytes, const std::shared_ptr<void>& owner);

}  // namespace onnx
}  // namespace retort
