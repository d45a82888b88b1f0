#include "memory/allocator.h"

namespace retort {

std::shared_ptr<void> allocate_from(const std::shared_ptr<Allocator>& allocator, size_t bytes) {
  return {allocator->allocate(bytes), [allocator](void* memory) { allocator->release(memory); }};
}

}  // namespace retort
