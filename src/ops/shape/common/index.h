// Index inputs of the gather and scatter family.
#pragma once
#include "ops/run_context.h"
#include "tensor/shape.h"

namespace retort::ops {

/// Elements of an int32 or int64 tensor, one at a time.
class IndexReader {
 public:
  IndexReader(const void* data, DType type) : data_(data), wide_(type == DType::i64) {
    require(wide_ || type == DType::i32, ErrorCode::invalid_argument, "indices are of type {}, not int32 or int64",
            dtype_name(type));
  }
  int64_t raw(size_t i) const {
    return wide_ ? static_cast<const int64_t*>(data_)[i] : static_cast<const int32_t*>(data_)[i];
  }
  /// Counted from the back when negative. Only after check().
  int64_t at(size_t i, int64_t extent) const { return raw(i) < 0 ? raw(i) + extent : raw(i); }
  /// Throws invalid_argument naming the first of n indices outside [-extent, extent).
  void check(size_t n, int64_t extent) const {
    for (size_t i = 0; i < n; ++i) {
      const int64_t v = raw(i);
      require(v >= -extent && v < extent, ErrorCode::invalid_argument,
              "index {} at position {} is outside [-{}, {}) of the axis", v, i, extent, extent);
    }
  }

 private:
  const void* data_;
  bool wide_;
};

inline IndexReader read_indices(const RunContext& c, size_t input) { return {c.data(input), c.dtype(input)}; }

}  // namespace retort::ops
