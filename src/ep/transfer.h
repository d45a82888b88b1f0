// How bytes get from one memory to another.
#pragma once
#include <span>

#include "ep/stream.h"
#include "tensor/tensor.h"

namespace retort {

/// Of equal element type and count, and no strings.
struct Transfer {
  const Tensor* from = nullptr;
  Tensor* to = nullptr;
};

/// Thread-safe.
class DataTransfer {
 public:
  virtual ~DataTransfer() = default;
  virtual bool can_copy(const MemorySpace& from, const MemorySpace& to) const = 0;
  /// With a stream, the copies are part of its work and may be done later: both sides must stay as they are until then.
  /// Without, they are done when it returns.
  virtual void copy(std::span<const Transfer> transfers, Stream* stream) = 0;
};

}  // namespace retort
