#include "memory/packed_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/later.h"
#include "base/loading.h"
#include "memory/mapping.h"

namespace retort {
namespace {

constexpr char kMagic[8] = {'R', 'T', 'P', 'A', 'C', 'K', 'E', 'D'};
constexpr uint32_t kVersion = 1;
constexpr size_t kAlignment = 64, kPage = 4096;
constexpr size_t kLeastSaved = size_t(256) << 10;  // opening a file takes longer than packing less than this

struct Header {
  char magic[8];
  uint32_t version, entries;
  uint64_t key[2];
  uint64_t file_size;
  uint64_t check[2];  ///< of this header, with zeros in this field, and of the table
};
static_assert(sizeof(Header) == 56);

// Hashes one cache line of each page, which is what a disk or a file system may lose, or all of a small block. Reads
// the block into memory.
uint64_t sample_block(const void* block, size_t bytes) {
  Fingerprint f;
  const char* const p = static_cast<const char*>(block);
  if (bytes <= 4 * kPage) {
    f.add(p, bytes);
    return f.high();
  }
  for (size_t at = 0; at + kAlignment <= bytes; at += kPage) f.add(p + at, kAlignment);
  f.add(p + bytes - kAlignment, kAlignment);
  return f.high();
}

// Reads all pages at once: page faults would read only a few at a time.
void populate(const void* block, size_t bytes) {
#ifdef MADV_POPULATE_READ
  const auto at = reinterpret_cast<uintptr_t>(block), first = at / kPage * kPage;
  in_pieces(at + bytes - first, [&](size_t begin, size_t size) {
    madvise(reinterpret_cast<void*>(first + begin), size, MADV_POPULATE_READ);
  });
#endif
}

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  OpenFile(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  /// The descriptor, which the caller closes.
  int take() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

bool write_all(int file, const void* data, size_t size) {
  bool ok = true;
  in_pieces(size, [&](size_t begin, size_t left) {
    for (const char* p = static_cast<const char*>(data) + begin; ok && left > 0;) {
      const ssize_t n = ::write(file, p, left);
      if (n < 0 && errno == EINTR) continue;
      ok = n > 0;
      p += ok ? n : 0;
      left -= ok ? size_t(n) : 0;
    }
  });
  return ok;
}

}  // namespace

struct PackedCache::Entry {
  PackedName name;
  uint32_t unused = 0;
  uint64_t offset = 0, bytes = 0, sample = 0;
};

namespace {

template <class Entry>
Fingerprint check_of(Header header, const Entry* table) {
  header.check[0] = header.check[1] = 0;
  Fingerprint f;
  f.add(&header, sizeof header);
  f.add(table, header.entries * sizeof(Entry));
  return f;
}

}  // namespace

PackedCache::PackedCache(std::string path, const Fingerprint& key, SharedBlocks* shared, const Logger& logger)
    : path_(std::move(path)), key_(key), shared_(shared), logger_(logger) {
  open();
}

void PackedCache::open() {
  const OpenFile file(path_, O_RDONLY | O_NONBLOCK);
  struct stat s {};
  if (file.fd() < 0 || fstat(file.fd(), &s) != 0) {
    if (errno != ENOENT) logger_.warn("packed weights in '{}' cannot be read: {}", path_, std::strerror(errno));
    return;
  }
  const char* wrong = "is not a regular file";
  const auto size = size_t(s.st_size);
  if (S_ISREG(s.st_mode)) {
    wrong = "is cut short";
    if (size >= sizeof(Header)) {
      const FileIdentity identity = identify(s);
      const FileRange whole{identity, 0, size};
      std::shared_ptr<void> mapping = shared_ ? shared_->find(whole) : nullptr;
      if (!mapping) mapping = map_file(file.fd(), identity);
      wrong = read(mapping, size);
      if (!wrong && shared_) shared_->keep(whole, mapping);
    }
  }
  if (wrong) logger_.warn("the file '{}' {}: weights are packed anew", path_, wrong);
}

// Returns what is wrong with the file, or null.
const char* PackedCache::read(const std::shared_ptr<void>& mapping, size_t size) {
  const char* const base = static_cast<const char*>(mapping.get());
  Header h;
  std::memcpy(&h, base, sizeof h);
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0) return "contains no packed weights";
  if (h.version != kVersion) return "has another format version";
  if (h.file_size != size || (size - sizeof h) / sizeof(Entry) < h.entries) return "is cut short";
  std::vector<Entry> table(h.entries);
  if (h.entries) std::memcpy(table.data(), base + sizeof h, h.entries * sizeof(Entry));
  const Fingerprint check = check_of(h, table.data());
  if (check.high() != h.check[0] || check.low() != h.check[1]) return "is damaged";
  if (h.key[0] != key_.high() || h.key[1] != key_.low()) {
    logger_.info("the file '{}' is of an earlier state of the model: weights are packed anew", path_);
    return nullptr;
  }
  for (const Entry& e : table) {
    if (e.offset > size || e.bytes > size - e.offset || e.offset % kAlignment) return "is damaged";
  }
  for (const Entry& e : table) {
    in_file_[e.name] = {std::shared_ptr<const void>(mapping, base + e.offset), e.bytes, e.sample};
  }
  return nullptr;
}

std::shared_ptr<const void> PackedCache::find(const PackedName& name, size_t bytes) {
  const auto found = in_file_.find(name);
  if (found == in_file_.end() || found->second.bytes != bytes) return nullptr;
  const Block& block = found->second;
  populate(block.memory.get(), bytes);
  const bool right = sample_block(block.memory.get(), bytes) == block.sample;
  const std::lock_guard lock(mutex_);
  if (right) {
    used_[name] = block;
    return block.memory;
  }
  if (!warned_) logger_.warn("the file '{}' is damaged: weights are packed anew", path_);
  warned_ = true;
  return nullptr;
}

void PackedCache::add(const PackedName& name, std::shared_ptr<const void> block, size_t bytes) {
  const std::lock_guard lock(mutex_);
  used_[name] = {std::move(block), bytes, 0};
  complete_ = false;
}

void PackedCache::save() {
  static std::atomic<uint32_t> count{0};
  size_t bytes = 0;
  for (const auto& [name, block] : used_) bytes += block.bytes;
  if (complete_ || bytes < kLeastSaved) return;
  const std::string temporary = cat("{}.{}.{}.tmp", path_, getpid(), count++);
  const char* failed = "create";
  {
    OpenFile file(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    try {
      if (file.fd() >= 0) failed = write(file.fd());
    } catch (const Error&) {  // loading was cancelled
      unlink(temporary.c_str());
      close_later(file.take());
      throw;
    }
  }
  if (!failed && std::rename(temporary.c_str(), path_.c_str()) != 0) failed = "rename";
  if (!failed) return logger_.info("{} bytes of packed weights are in '{}'", bytes, path_);
  const std::string reason = std::strerror(errno);
  unlink(temporary.c_str());
  logger_.warn(
      "packed weights are not saved: cannot {} '{}': {}; free disk space or set session.packed_weights_cache to a "
      "folder that is writable",
      failed, temporary, reason);
}

// Returns the operation that failed, or null.
const char* PackedCache::write(int file) const {
  Header h{.version = kVersion, .entries = uint32_t(used_.size()), .key = {key_.high(), key_.low()}};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  std::vector<Entry> table;
  size_t at = round_up(sizeof h + used_.size() * sizeof(Entry), kPage);
  for (const auto& [name, block] : used_) {
    table.push_back({name, 0, at, block.bytes, sample_block(block.memory.get(), block.bytes)});
    at += round_up(block.bytes, kAlignment);
  }
  h.file_size = at;
  const Fingerprint check = check_of(h, table.data());
  h.check[0] = check.high();
  h.check[1] = check.low();
  constexpr char kZeros[kPage] = {};
  const size_t head = sizeof h + table.size() * sizeof(Entry);
  bool ok = write_all(file, &h, sizeof h) && write_all(file, table.data(), head - sizeof h) &&
            write_all(file, kZeros, round_up(head, kPage) - head);
  constexpr size_t kStarted = size_t(64) << 20;
  size_t waiting = 0;
  for (const auto& [name, block] : used_) {
    ok = ok && write_all(file, block.memory.get(), block.bytes) &&
         write_all(file, kZeros, round_up(block.bytes, kAlignment) - block.bytes);
    // Starts writing to the disk, so that the wait at the end, which cannot be cancelled, is short.
    if ((waiting += block.bytes) < kStarted) continue;
    sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE);
    waiting = 0;
  }
  if (!ok) return "write";
  return fdatasync(file) == 0 ? nullptr : "write";  // otherwise a crash could keep the name and lose the content
}

}  // namespace retort
