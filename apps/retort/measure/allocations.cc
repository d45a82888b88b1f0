#include "measure/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<uint64_t> count{0};
std::atomic<bool> counting{true};
void tick() {
  if (counting.load(std::memory_order_relaxed)) count.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

// The C library keeps these names for this purpose. operator new calls malloc; free stays as it is.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t n, size_t size);
void* __libc_realloc(void* p, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(size_t size) {
  tick();
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) {
  tick();
  return __libc_calloc(n, size);
}
void* realloc(void* p, size_t size) {
  tick();
  return __libc_realloc(p, size);
}
void* memalign(size_t alignment, size_t size) {
  tick();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
}

uint64_t retort::cli::allocations() { return count.load(std::memory_order_relaxed); }
bool retort::cli::allocations_are_counted() { return true; }
void retort::cli::count_allocations(bool on) { counting.store(on, std::memory_order_relaxed); }

#else

uint64_t retort::cli::allocations() { return 0; }
bool retort::cli::allocations_are_counted() { return false; }
void retort::cli::count_allocations(bool) {}

#endif
