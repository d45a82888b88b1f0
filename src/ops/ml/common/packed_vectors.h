// Vectors of coefficients, packed for products with rows of features.
#pragma once
#include <algorithm>
#include <memory>
#include <span>

#include "kernels/distance/distance.h"
#include "kernels/gemm/gemm.h"
#include "memory/host.h"

namespace retort::ops {

/// Immutable; shared by concurrent runs.
class PackedVectors {
 public:
  PackedVectors() = default;
  /// `vectors` is [count, length].
  PackedVectors(const float* vectors, size_t count, size_t length)
      : count_(count),
        length_(length),
        memory_(allocate_block(std::max<size_t>(kernels::gemm_packed_bytes(length, count), 64))) {
    kernels::gemm_pack_b(vectors, 1, length, length, count, packed());
  }

  size_t count() const { return count_; }
  size_t length() const { return length_; }

  /// y[r, j] = x[r] · vector j + bias[j], for x [rows, length] and rows of y y_stride apart; bias may be null. Serial.
  void multiply(const float* x, size_t rows, const float* bias, float* y, size_t y_stride) const noexcept {
    const kernels::GemmArgs args{.m = rows,
                                 .n = count_,
                                 .k = length_,
                                 .a = x,
                                 .a_stride = length_,
                                 .packed_b = packed(),
                                 .c = y,
                                 .c_stride = y_stride,
                                 .epilogue = {.bias = bias}};
    if (rows > 0) kernels::gemm_block(args, 0, count_);
  }
  /// y[r, j] = |x[r] - vector j|², for y [rows, count]. Serial.
  void squared_distances(const float* x, size_t rows, float* y) const noexcept {
    kernels::squared_distances({.m = rows, .n = count_, .k = length_, .a = x, .packed_b = packed(), .c = y});
  }

 private:
  float* packed() const { return static_cast<float*>(memory_.get()); }

  size_t count_ = 0, length_ = 0;
  std::shared_ptr<void> memory_;
};

}  // namespace retort::ops
