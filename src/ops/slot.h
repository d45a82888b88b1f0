// A value while a graph is laid out and run: its concrete type, its memory, and its content if that follows from
// shapes.
#pragma once
#include <vector>

#include "memory/spare.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

namespace retort {

struct Slot {
  ValueType type;        ///< concrete extents once laid out
  void* data = nullptr;  ///< first element; null until memory is assigned, or for boxed values
  size_t count = 0;      ///< number of elements
  /// Elements from one row of the last axis to the next; 0: rows are contiguous. Other values are passed only to
  /// operators that accept them (OpDef::reads_rows, writes_rows).
  size_t row_stride = 0;
  size_t room = 0;         ///< spare rows between the heads of a cache [B, H, rows, D] that grows in place; 0: no gaps
  std::vector<Dim> known;  ///< content of a small integer tensor that follows from shapes; valid if has_known
  bool has_known = false;
  bool present = false;  ///< false: an omitted optional input
  Value
      /// Sequences, maps, optionals; tensors that own their memory (strings, sizes that depend on data) or that lie in
      /// the memory of a device.
      boxed;
  Spare kept;                       ///< memory of `boxed`, for the next run
  const Tensor* offered = nullptr;  ///< a caller's tensor that this output may use if its size fits

  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
  size_t row_extent() const { return type.shape.rank() ? size_t(type.shape.back()) : 1; }
  size_t row_step() const { return row_stride ? row_stride : row_extent(); }
};

/// Integer content longer than this is never propagated through shapes.
inline constexpr size_t kMaxKnown = 1024;

}  // namespace retort
