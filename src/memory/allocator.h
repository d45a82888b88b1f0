// Allocates memory in one space: of the host or of a device.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "tensor/memory_space.h"

namespace retort {

/// Thread-safe.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual const MemorySpace& space() const = 0;
  /// The name that its provider gives to the memory; empty if it has none.
  virtual std::string name() const { return {}; }
  /// The memory is readable by the host only if the space says so. Throws ErrorCode::fail if the allocation fails; may
  /// return null for 0 bytes.
  virtual void* allocate(size_t bytes) = 0;
  /// The same for memory that is kept for long; some allocators count it apart.
  virtual void* reserve(size_t bytes) { return allocate(bytes); }
  virtual void release(void* memory) noexcept = 0;
  /// Names and values for display: bytes in use, their maximum, number of allocations.
  virtual std::map<std::string, std::string> statistics() const { return {}; }
};

/// Returns memory that is freed with its last owner; it keeps the allocator alive.
std::shared_ptr<void> allocate_from(const std::shared_ptr<Allocator>& allocator, size_t bytes);

}  // namespace retort
