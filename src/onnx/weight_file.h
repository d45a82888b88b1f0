// Files that weights lie in: opened for reading, mapped private and read-only, and recognised again later.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "memory/mapping.h"

namespace retort {

/// The file range behind a tensor that read_model mapped or copied from a mapped file; nullopt for all others. Equal
/// ranges mean equal bytes, so packed forms can be shared between sessions.
std::optional<FileRange> file_range(const Tensor& tensor);

namespace onnx {

/// An open regular file.
class File {
 public:
  /// Throws no_such_file, or invalid_protobuf when it is no regular file.
  static File open(const std::string& path);
  /// Opens `location`, a path relative to the folder, and lets nothing lead out of it: no absolute path, no "..", no
  /// link, no mount of /proc. `by_hand`: walks the path itself, as on kernels without openat2; links are then refused
  /// altogether. Throws no_such_file or invalid_argument.
  static File open_beneath(const std::string& folder, std::string_view location, bool by_hand = false);
  File(File&& other) noexcept : fd_(other.fd_), identity_(other.identity_) { other.fd_ = -1; }
  File& operator=(File&&) = delete;
  ~File();

  const FileIdentity& identity() const { return identity_; }
  size_t size() const { return identity_.size; }
  /// The whole file, private and read-only; null when it is empty. Keeps nothing open.
  std::shared_ptr<void> map() const;
  /// Bytes [offset, offset + size) in memory of their own; throws when the file is shorter by now.
  std::shared_ptr<void> read(uint64_t offset, size_t size) const;

 private:
  explicit File(int fd, std::string_view name);
  int fd_;
  FileIdentity identity_;
};

/// Copies `bytes` of `owner` (may be null) into memory of their own that remembers the file range.
std::shared_ptr<void> copy_weight(std::string_view bytes, const std::shared_ptr<void>& owner);

}  // namespace onnx
}  // namespace retort
