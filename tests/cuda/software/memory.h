// The memory of the made-up devices. The addresses that are handed out cannot be read or written: the bytes are at
// another place, which only kernels and copies see.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "core/driver.h"

namespace software_cuda {

using providers::cuda::Address;

/// Thread-safe.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t capacity);
  /// 0 if there is no room.
  Address allocate(size_t bytes);
  /// Whether this was a block. Ends the process with a message if bytes around the block were written.
  bool release(Address address);
  /// Whether all bytes are in one block.
  bool holds(Address address, size_t bytes) const;
  /// The place of the bytes of an address in this device's range; the same number for others.
  Address behind(Address address) const { return in_range(address) ? address - shown_ + own_ : address; }
  bool in_range(Address address) const { return address >= shown_ && address < shown_ + range_; }
  /// A description of a place that a kernel touched wrongly, or null.
  const char* describe(Address place) const;
  /// Ends the process with a message if bytes around any block were written.
  void check() const;

  size_t capacity() const { return capacity_; }
  size_t used() const;
  int64_t blocks() const;

 private:
  struct Piece {
    size_t pages = 0;  // bytes of pages
    size_t front = 0;  // bytes before the block on its first page
    size_t bytes = 0;  // of the block, as asked for
  };
  bool find_room(size_t bytes, size_t& offset) const;
  void check(size_t offset, const Piece& piece) const;

  const size_t capacity_, range_;
  Address shown_ = 0, own_ = 0;
  mutable std::mutex mutex_;
  std::map<size_t, Piece> pieces_;  // by offset of the first page
  size_t used_ = 0, next_ = 0;
};

/// Pinned host memory. Thread-safe.
class PinnedMemory {
 public:
  static PinnedMemory& get();
  void* allocate(size_t bytes);
  bool release(void* memory);
  bool holds(const void* memory, size_t bytes) const;
  int64_t blocks() const;

 private:
  mutable std::mutex mutex_;
  std::map<uintptr_t, size_t> blocks_;
};

/// Writes "software CUDA: ..." to stderr and aborts.
[[noreturn]] void die(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace software_cuda
