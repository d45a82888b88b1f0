// A value while a graph is laid out and run: its concrete type, its memory, and its content where that follows from
// shapes.
#pragma once
#include <vector>

#include "tensor/tensor.h"
#include "tensor/type.h"

namespace retort {

struct Slot {
  ValueType type;          ///< concrete extents once laid out
  void* data = nullptr;    ///< first element; null until memory is assigned, or for boxed values
  size_t count = 0;        ///< elements
  size_t room = 0;         ///< rows between the heads of a cache [B, H, rows, D] that grows in place; 0: no gaps
  std::vector<Dim> known;  ///< content of a small integer tensor that follows from shapes; valid when has_known
  bool has_known = false;
  bool present = false;  ///< false: an omitted optional input
  Value boxed;  ///< sequences, maps, optionals; tensors that own their memory (strings, sizes that only the data tells)

  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
};

/// Integer content longer than this is never propagated through shapes.
inline constexpr size_t kMaxKnown = 1024;

}  // namespace retort
