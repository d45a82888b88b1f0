// Maps files into memory, and controls which of their pages stay there.
#pragma once
#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>

#include "tensor/tensor.h"

namespace retort {

/// Distinguishes one version of a file from all others.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  int64_t modified_ns = 0;
  uint64_t size = 0;
  int64_t changed_ns = 0;  ///< also changes with name and mode, so it is not compared
  auto operator<=>(const FileIdentity& o) const { return in_order() <=> o.in_order(); }
  bool operator==(const FileIdentity& o) const { return in_order() == o.in_order(); }

 private:
  std::tuple<uint64_t, uint64_t, int64_t, uint64_t> in_order() const { return {device, inode, modified_ns, size}; }
};
FileIdentity identify(const struct stat& file);

/// The place in a file that a weight was read from.
struct FileRange {
  FileIdentity file;
  uint64_t offset = 0, length = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): the default compares with something that is not a pointer
  auto operator<=>(const FileRange&) const = default;
};

/// Maps the whole open file, private and read-only; the descriptor may be closed afterwards. The size must not be 0.
/// Throws ErrorCode::fail.
std::shared_ptr<void> map_file(int descriptor, const FileIdentity& file);

/// The file range of `length` bytes at `data` in a mapping by map_file; nullopt for other memory.
std::optional<FileRange> file_range(const std::shared_ptr<void>& owner, const void* data, size_t length);

/// Maps the pages of a tensor that is to be read as a whole in one call: page faults, of 16 pages each, would take
/// longer. Does nothing for tensors above 16 MiB, of which a piece may be released before the next is read, for memory
/// that is not a file mapped by map_file, or before Linux 5.14.
void fetch_pages(const Tensor& tensor);

/// Releases the pages that lie entirely in the tensor, if its memory is a file mapped by map_file; they are read from
/// the file again when they are accessed. Does nothing for other memory.
void release_pages(const Tensor& tensor);

/// The same for all pages of the mapping that contains the tensor.
void release_mapping(const Tensor& tensor);

/// Returns an aligned copy of a tensor with unpacked elements, and releases its pages while copying. Throws if loading is
/// cancelled meanwhile (base/loading.h).
Tensor move_from_file(const Tensor& tensor);

}  // namespace retort
