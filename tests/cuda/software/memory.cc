#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace software_cuda {

constexpr size_t kPage = 4096;
constexpr size_t kAlign = 256;
constexpr unsigned char kGuard = 0xA5;
// Fresh memory is NaN. Of large blocks only the begin, so that a test may ask for more memory than the machine has.
constexpr size_t kFilled = size_t(64) << 20;

void die(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::fputs("software CUDA: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputs("\n", stderr);
  va_end(arguments);
  std::abort();
}

static Address reserve(size_t bytes) {
  void* const p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) die("%zu bytes of addresses cannot be reserved", bytes);
  return reinterpret_cast<Address>(p);
}

// Blocks are far apart, so the range has room for more than the capacity.
DeviceMemory::DeviceMemory(size_t capacity) : capacity_(capacity), range_(capacity * 2 + (size_t(1) << 32)) {
  shown_ = reserve(range_);
  own_ = reserve(range_);
}

/// Looks for room behind the last block that was made, so that addresses of freed blocks come back late.
bool DeviceMemory::find_room(size_t bytes, size_t& offset) const {
  const auto fits = [&](size_t from, size_t to) {
    size_t at = from;
    auto after = pieces_.lower_bound(from);
    if (after != pieces_.begin()) {
      const auto before = std::prev(after);
      at = std::max(at, before->first + before->second.pages + kPage);
    }
    for (; at + bytes + kPage <= to; ++after) {
      if (after == pieces_.end() || after->first >= at + bytes + kPage) {
        offset = at;
        return true;
      }
      at = after->first + after->second.pages + kPage;
    }
    return false;
  };
  return fits(next_, range_) || fits(kPage, range_);
}

Address DeviceMemory::allocate(size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > capacity_ || used_ + bytes > capacity_) return 0;
  const size_t rounded = (bytes + kAlign - 1) / kAlign * kAlign;
  Piece piece;
  piece.bytes = bytes;
  piece.pages = (rounded + kPage - 1) / kPage * kPage;
  piece.front = piece.pages - rounded;
  size_t offset = 0;
  if (!find_room(piece.pages, offset)) return 0;
  auto* const page = reinterpret_cast<unsigned char*>(own_ + offset);
  if (mprotect(page, piece.pages, PROT_READ | PROT_WRITE) != 0) return 0;
  std::memset(page, kGuard, piece.front);
  std::memset(page + piece.front, 0xFF, std::min(bytes, kFilled));
  std::memset(page + piece.front + bytes, kGuard, rounded - bytes);
  pieces_[offset] = piece;
  used_ += bytes;
  next_ = offset + piece.pages + kPage;
  return shown_ + offset + piece.front;
}

void DeviceMemory::check(size_t offset, const Piece& piece) const {
  const auto* const page = reinterpret_cast<const unsigned char*>(own_ + offset);
  for (size_t i = 0; i < piece.pages; ++i) {
    if (i == piece.front) i += piece.bytes;
    if (i >= piece.pages) break;
    if (page[i] == kGuard) continue;
    const long long at = (long long)i - (long long)piece.front;
    die("a block of %zu bytes was written outside of its bounds, at byte %lld", piece.bytes, at);
  }
}

bool DeviceMemory::release(Address address) {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find((address - shown_) / kPage * kPage);
  if (!in_range(address) || found == pieces_.end() || found->first + found->second.front != address - shown_)
    return false;
  const auto [offset, piece] = *found;
  check(offset, piece);
  auto* const page = reinterpret_cast<void*>(own_ + offset);
  madvise(page, piece.pages, MADV_DONTNEED);
  mprotect(page, piece.pages, PROT_NONE);
  used_ -= piece.bytes;
  pieces_.erase(found);
  return true;
}

bool DeviceMemory::holds(Address address, size_t bytes) const {
  if (!in_range(address)) return false;
  const std::lock_guard lock(mutex_);
  auto piece = pieces_.upper_bound(address - shown_);
  if (piece == pieces_.begin()) return false;
  --piece;
  const Address begin = shown_ + piece->first + piece->second.front;
  return address >= begin && address + bytes <= begin + piece->second.bytes;
}

const char* DeviceMemory::describe(Address place) const {
  if (in_range(place)) return "an address of another device, or one that was not passed as an argument of the kernel";
  if (place < own_ || place >= own_ + range_) return nullptr;
  return "device memory outside of any block: behind the end of one, or in one that was freed";
}

void DeviceMemory::check() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [offset, piece] : pieces_) check(offset, piece);
}

size_t DeviceMemory::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

int64_t DeviceMemory::blocks() const {
  const std::lock_guard lock(mutex_);
  return int64_t(pieces_.size());
}

PinnedMemory& PinnedMemory::get() {
  static auto& memory = *new PinnedMemory;
  return memory;
}

void* PinnedMemory::allocate(size_t bytes) {
  void* const p = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (!p) return nullptr;
  std::memset(p, 0xFF, bytes);
  const std::lock_guard lock(mutex_);
  blocks_[reinterpret_cast<uintptr_t>(p)] = bytes;
  return p;
}

bool PinnedMemory::release(void* memory) {
  const std::lock_guard lock(mutex_);
  if (!blocks_.erase(reinterpret_cast<uintptr_t>(memory))) return false;
  std::free(memory);
  return true;
}

bool PinnedMemory::holds(const void* memory, size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(memory);
  const std::lock_guard lock(mutex_);
  auto block = blocks_.upper_bound(at);
  if (block == blocks_.begin()) return false;
  --block;
  return at + bytes <= block->first + block->second;
}

int64_t PinnedMemory::blocks() const {
  const std::lock_guard lock(mutex_);
  return int64_t(blocks_.size());
}

}  // namespace software_cuda
