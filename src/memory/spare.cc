#include "memory/spare.h"

#include <algorithm>

#include "base/checked.h"

namespace retort {

const std::shared_ptr<void>& Spare::take(const MemorySpace& wanted, size_t bytes,
                                         FunctionRef<std::shared_ptr<void>(size_t)> allocate) {
  most = std::max(most, bytes);
  if (++runs == kRunsPerTrim) {
    if (capacity >= kWorthTrimming && capacity > 2 * most) *this = Spare();
    most = runs = 0;
  }
  if (memory && memory.use_count() == 1 && capacity >= bytes && space == wanted) return memory;
  // Leaves room to grow, so that a growing result is not allocated anew in every run.
  const bool grows = memory && capacity < bytes && space == wanted;
  const size_t room = grows ? checked_add(bytes, bytes / 4, "tensor size in bytes") : bytes;
  memory = nullptr;  // frees the old memory before it allocates the new one
  capacity = 0;
  memory = allocate(room);
  capacity = room;
  space = wanted;
  return memory;
}

}  // namespace retort
