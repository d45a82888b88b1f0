// OrtAllocator is a public struct of function pointers: ours derives from it.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "abi/values/memory_info.h"
#include "memory/allocator.h"

struct OrtArenaCfg : retort::abi::Handle<retort::abi::tag_of("arna")> {
  size_t max_mem = 0;            ///< 0: no limit
  int64_t extend_strategy = -1;  ///< 0: next power of two, 1: as asked; -1: default, here and below
  int64_t initial_chunk_bytes = -1;
  int64_t max_dead_bytes_per_chunk = -1;
  int64_t initial_growth_chunk_bytes = -1;
  int64_t max_power_of_two_extend_bytes = -1;
  bool use_cuda_mempool = false;
};

namespace retort::abi {

/// Host memory aligned to 64 bytes. Null when there is none, and for 0 bytes. Thread-safe.
struct HostAllocator : OrtAllocator {
  HostAllocator();
};

/// A device's memory. Thread-safe.
struct DeviceAllocator : OrtAllocator {
  explicit DeviceAllocator(std::shared_ptr<Allocator> memory);
  const std::shared_ptr<Allocator> memory;
  const OrtMemoryInfo& info;
};

/// The memory behind an allocator of a device's; null for any other.
std::shared_ptr<Allocator> memory_behind(const OrtAllocator& allocator);

/// The allocator of GetAllocatorWithDefaultOptions; lives as long as the library.
OrtAllocator& default_allocator();

/// `size` bytes of `allocator`; runtime_exception when it has none. Null for 0 bytes is no error.
void* allocate(OrtAllocator& allocator, size_t size);
/// A copy of text that the caller frees with the allocator.
char* allocate_text(OrtAllocator& allocator, const std::string& text);

/// Memory of an allocator that is freed unless it is handed to the caller after all.
template <typename T>
auto held(OrtAllocator& allocator, T* p) {
  const auto free = [&allocator](T* q) { allocator.Free(&allocator, q); };
  return std::unique_ptr<T, decltype(free)>(p, free);
}

/// The allocators that an environment shares with its sessions: one for each memory space, ours or a caller's.
/// Thread-safe.
class SharedAllocators {
 public:
  SharedAllocators();
  /// Null when the space has none; the host's is there also when nothing is registered for it.
  OrtAllocator* find(const MemorySpace& space) const;
  /// Replaces the one that is there.
  void set(const MemorySpace& space, OrtAllocator* callers);
  void set_host(const MemorySpace& space);
  OrtAllocator& set_device(const std::shared_ptr<Allocator>& memory);
  /// False when none was registered.
  bool remove(const MemorySpace& space);

 private:
  struct Entry {
    MemorySpace space;
    OrtAllocator* allocator;
    std::shared_ptr<OrtAllocator> own;  ///< null when the allocator is a caller's
  };
  void put(Entry entry);
  const std::unique_ptr<HostAllocator> host_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace retort::abi
