// Files mapped into memory, and which of their pages are worth keeping there.
#pragma once
#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>

#include "tensor/tensor.h"

namespace retort {

/// What tells one version of a file from all others.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  int64_t modified_ns = 0;
  uint64_t size = 0;
  int64_t changed_ns = 0;  ///< of the content, but also of name and mode: no part of comparisons
  auto operator<=>(const FileIdentity& o) const { return in_order() <=> o.in_order(); }
  bool operator==(const FileIdentity& o) const { return in_order() == o.in_order(); }

 private:
  std::tuple<uint64_t, uint64_t, int64_t, uint64_t> in_order() const { return {device, inode, modified_ns, size}; }
};
FileIdentity identify(const struct stat& file);

/// Where the bytes of a weight come from.
struct FileRange {
  FileIdentity file;
  uint64_t offset = 0, length = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): what the default compares with is no pointer
  auto operator<=>(const FileRange&) const = default;
};

/// The whole open file, private and read-only; keeps nothing open. Its size must not be 0. Throws ErrorCode::fail.
std::shared_ptr<void> map_file(int descriptor, const FileIdentity& file);

/// The file range under `length` bytes at `data` of a mapping by map_file; nullopt for other memory.
std::optional<FileRange> file_range(const std::shared_ptr<void>& owner, const void* data, size_t length);

/// Gives back the memory of the pages that lie wholly under the tensor, where that is a file mapped by map_file; they
/// come back from the file when somebody reads them again. Nothing for other memory.
void release_pages(const Tensor& tensor);

/// Likewise all pages of the mapping that the tensor lies in.
void release_mapping(const Tensor& tensor);

/// An aligned copy of a tensor of whole elements, whose pages are released as the copy grows.
Tensor move_from_file(const Tensor& tensor);

}  // namespace retort
