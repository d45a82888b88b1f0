// The memory of an earlier result, which is reused if nothing else refers to it.
#pragma once
#include <cstdint>
#include <memory>

#include "base/function_ref.h"
#include "tensor/memory_space.h"

namespace retort {

/// After this many runs, memory that none of them needed is freed.
inline constexpr uint32_t kRunsPerTrim = 32;
/// Less memory than this is kept: planning again would cost more than it saves.
inline constexpr size_t kWorthTrimming = size_t(1) << 20;

/// Not thread-safe.
struct Spare {
  std::shared_ptr<void> memory;
  MemorySpace space;
  size_t capacity = 0;
  size_t most = 0;    ///< the most bytes that a run needed since memory was last freed
  uint32_t runs = 0;  ///< number of runs since then

  /// Returns memory of `bytes` bytes in `wanted`: the kept memory if nothing else refers to it, otherwise new memory,
  /// with room to grow if the old one was too small.
  const std::shared_ptr<void>& take(const MemorySpace& wanted, size_t bytes,
                                    FunctionRef<std::shared_ptr<void>(size_t)> allocate);
};

}  // namespace retort
