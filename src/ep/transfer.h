// Copies of tensors between memories.
#pragma once
#include <span>

#include "ep/stream.h"
#include "tensor/tensor.h"

namespace retort {

/// Source and destination have equal element types and counts, and are not strings.
struct Transfer {
  const Tensor* from = nullptr;
  Tensor* to = nullptr;
};

/// Thread-safe.
class DataTransfer {
 public:
  virtual ~DataTransfer() = default;
  virtual bool can_copy(const MemorySpace& from, const MemorySpace& to) const = 0;
  /// With a stream, the copies are queued on it: both sides must remain unchanged until they are done. Without, they
  /// are done when this returns.
  virtual void copy(std::span<const Transfer> transfers, Stream* stream) = 0;
};

}  // namespace retort
