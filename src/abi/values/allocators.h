// Allocators of the C interface. OrtAllocator is a public struct of function pointers; the library's allocators derive
// from it.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "abi/values/memory_info.h"
#include "memory/allocator.h"

struct OrtArenaCfg : retort::abi::Handle<retort::abi::tag_of("arna")> {
  size_t max_mem = 0;            ///< 0: no limit
  int64_t extend_strategy = -1;  ///< 0: next power of two, 1: as requested; -1: default, here and below
  int64_t initial_chunk_bytes = -1;
  int64_t max_dead_bytes_per_chunk = -1;
  int64_t initial_growth_chunk_bytes = -1;
  int64_t max_power_of_two_extend_bytes = -1;
  bool use_cuda_mempool = false;
};

namespace retort::abi {

/// Allocates host memory, aligned to 64 bytes. Alloc returns null if memory is exhausted, and for 0 bytes. Thread-safe.
struct HostAllocator : OrtAllocator {
  HostAllocator();
};

/// Allocates memory of a device, or counted memory of the host. Thread-safe.
struct DeviceAllocator : OrtAllocator {
  explicit DeviceAllocator(std::shared_ptr<Allocator> memory);
  const std::shared_ptr<Allocator> memory;
  const OrtMemoryInfo& info;
};

/// The engine's allocator of a DeviceAllocator; null for any other.
std::shared_ptr<Allocator> memory_behind(const OrtAllocator& allocator);

/// A caller's allocator of host memory, which must outlive the result's memory, as the engine's.
std::shared_ptr<Allocator> callers_memory(OrtAllocator& callers);

/// The allocator that GetAllocatorWithDefaultOptions returns; lives as long as the library.
OrtAllocator& default_allocator();

/// Allocates `size` bytes; throws runtime_exception if the allocator returns null, except for 0 bytes.
void* allocate(OrtAllocator& allocator, size_t size);
/// Returns a copy of the text, which the caller frees with the allocator.
char* allocate_text(OrtAllocator& allocator, const std::string& text);

/// Memory of an allocator, freed by the destructor unless it was handed to the caller.
template <typename T>
auto held(OrtAllocator& allocator, T* p) {
  const auto free = [&allocator](T* q) { allocator.Free(&allocator, q); };
  return std::unique_ptr<T, decltype(free)>(p, free);
}

/// The allocators that an environment shares with its sessions: one for each memory space, made by the library or by a
/// caller. Thread-safe.
class SharedAllocators {
 public:
  SharedAllocators();
  /// Null if the space has no allocator; the host's always exists, also if none or an arena is registered.
  OrtAllocator* find(const MemorySpace& space) const;
  /// Replaces what is registered. An allocator that find() has returned stays valid.
  void set(const MemorySpace& space, OrtAllocator* callers);
  OrtAllocator& set_device(const std::shared_ptr<Allocator>& memory);
  /// Registers host memory that only sessions use.
  void set_arena(const MemorySpace& space);
  /// Returns false if none was registered.
  bool remove(const MemorySpace& space);

 private:
  struct Entry {
    MemorySpace space;
    OrtAllocator* allocator;            ///< null: an arena
    std::shared_ptr<OrtAllocator> own;  ///< null if the allocator is a caller's
  };
  void put(Entry entry);
  const std::unique_ptr<HostAllocator> host_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<std::shared_ptr<OrtAllocator>> replaced_;
};

}  // namespace retort::abi
