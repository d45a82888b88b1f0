#include "memory/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "base/loading.h"
#include "memory/host.h"

namespace retort {
namespace {

/// The type of the deleter is also a label: std::get_deleter finds the file of an owner.
struct Unmap {
  FileIdentity file;
  void operator()(void* p) const { munmap(p, file.size); }
};

const Unmap* mapping_of(const std::shared_ptr<void>& owner) { return owner ? std::get_deleter<Unmap>(owner) : nullptr; }

// Releases whole pages in the mapping `owner`, which begins at a page.
void release(const std::shared_ptr<void>& owner, const void* data, size_t bytes) {
  if (!mapping_of(owner)) return;
  char* const mapping = static_cast<char*>(owner.get());
  const size_t page = size_t(sysconf(_SC_PAGESIZE)), at = size_t(static_cast<const char*>(data) - mapping);
  const size_t begin = round_up(at, page), end = (at + bytes) / page * page;
  if (begin < end) madvise(mapping + begin, end - begin, MADV_DONTNEED);  // clean pages: nothing is lost
}

int64_t nanoseconds(const timespec& t) { return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec; }

}  // namespace

FileIdentity identify(const struct stat& file) {
  return {file.st_dev, file.st_ino, nanoseconds(file.st_mtim), uint64_t(file.st_size), nanoseconds(file.st_ctim)};
}

std::shared_ptr<void> map_file(int descriptor, const FileIdentity& file) {
  void* p = mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (p == MAP_FAILED) fail(ErrorCode::fail, "cannot map {} bytes: {}", file.size, std::strerror(errno));
  return std::shared_ptr<void>(p, Unmap{file});
}

std::optional<FileRange> file_range(const std::shared_ptr<void>& owner, const void* data, size_t length) {
  const Unmap* mapping = mapping_of(owner);
  if (!mapping) return std::nullopt;
  return FileRange{mapping->file, uint64_t(static_cast<const char*>(data) - static_cast<char*>(owner.get())), length};
}

void fetch_pages(const Tensor& tensor) {
  constexpr size_t kLeast = size_t(64) << 10, kMost = size_t(16) << 20;
  constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, which older headers do not have
  const size_t bytes = tensor.bytes(), page = size_t(sysconf(_SC_PAGESIZE));
  if (bytes < kLeast || bytes > kMost || !mapping_of(tensor.owner())) return;
  char* const mapping = static_cast<char*>(tensor.owner().get());
  const size_t at = size_t(tensor.data<char>() - mapping), begin = at / page * page;
  madvise(mapping + begin, at + bytes - begin, kPopulateRead);  // if it fails, page faults do the same
}

void release_pages(const Tensor& tensor) { release(tensor.owner(), tensor.data(), tensor.bytes()); }

void release_mapping(const Tensor& tensor) {
  if (const Unmap* mapping = mapping_of(tensor.owner()))
    release(tensor.owner(), tensor.owner().get(), mapping->file.size);
}

Tensor move_from_file(const Tensor& tensor) {
  std::shared_ptr<void> memory = allocate_block(tensor.bytes());
  in_pieces(tensor.bytes(), [&](size_t done, size_t size) {
    const char* from = tensor.data<char>() + done;
    std::memcpy(static_cast<char*>(memory.get()) + done, from, size);
    release(tensor.owner(), from, size);
  });
  void* data = memory.get();
  return Tensor(tensor.dtype(), tensor.shape(), data, std::move(memory));
}

}  // namespace retort
