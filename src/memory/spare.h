// Memory of an earlier result, used again while nobody else holds it.
#pragma once
#include <cstdint>
#include <memory>

#include "base/function_ref.h"
#include "tensor/memory_space.h"

namespace retort {

/// After so many runs, memory goes back that none of them needed.
inline constexpr uint32_t kRunsPerTrim = 32;
/// Less than this is kept: planning anew costs more than it holds.
inline constexpr size_t kWorthTrimming = size_t(1) << 20;

/// Not thread-safe.
struct Spare {
  std::shared_ptr<void> memory;
  MemorySpace space;
  size_t capacity = 0;
  size_t most = 0;    ///< bytes that a run needed since memory was last given back
  uint32_t runs = 0;  ///< likewise

  /// Memory of `bytes` in `wanted`: what is kept if nobody holds it any more, else new, with room to grow where the last
  /// was too small.
  const std::shared_ptr<void>& take(const MemorySpace& wanted, size_t bytes,
                                    FunctionRef<std::shared_ptr<void>(size_t)> allocate);
};

}  // namespace retort
