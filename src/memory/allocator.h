// Memory of one space: of the host or of a device.
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
  /// What its maker calls the memory; empty: nothing of its own.
  virtual std::string name() const { return {}; }
  /// Not readable by the host unless the space says so. Throws ErrorCode::fail when there is no more; may return null for
  /// 0 bytes.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Names and numbers for people: bytes in use, the most that were, how many allocations.
  virtual std::map<std::string, std::string> statistics() const { return {}; }
};

/// Memory that goes with its last owner; it keeps the allocator alive.
std::shared_ptr<void> allocate_from(const std::shared_ptr<Allocator>& allocator, size_t bytes);

}  // namespace retort
