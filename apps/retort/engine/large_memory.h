// Memory for tensors of gigabytes.
#pragma once
#include <sys/mman.h>

#include <cstdint>

namespace retort::cli {

/// Asks the system for huge pages in memory that was allocated and not touched yet: gigabytes then cost a few thousand
/// page faults in place of a million. Advice only.
inline void expect_large(void* data, size_t bytes) {
  constexpr uintptr_t kHuge = uintptr_t(1) << 21;
  const uintptr_t from = (reinterpret_cast<uintptr_t>(data) + kHuge - 1) / kHuge * kHuge;
  const uintptr_t to = (reinterpret_cast<uintptr_t>(data) + bytes) / kHuge * kHuge;
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

}  // namespace retort::cli
