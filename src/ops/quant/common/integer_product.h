// Products of 8-bit integers, exact, on the single-precision kernel: 256 products of numbers within [-255, 255] add up to
// less than 2^24, so float sums of that many are exact; they are then added as int32_t, which wraps.
#pragma once
#include "kernels/gemm/gemm.h"
#include "ops/op.h"

namespace retort::ops {

/// Products that one float sum may hold.
inline constexpr size_t kExactDepth = 256;

/// Bytes of B [k, n] as multiply_exact() needs it.
size_t exact_packed_bytes(size_t k, size_t n);
/// B element (i, j) is b[i * row + j * column].
void pack_exact(const float* b, size_t row, size_t column, size_t k, size_t n, void* packed);
/// Floats of working memory.
inline size_t exact_workspace(size_t m, size_t n) { return m * n; }
/// C [m, n] = A [m, k] · B; rows of A and C have no gaps. `work`: exact_workspace() floats.
void multiply_exact(size_t m, size_t n, size_t k, const float* a, const void* packed_b, int32_t* c, float* work,
                    const Parallel& parallel);

/// n codes of 8 bits, the zero point taken off; throws nothing. type: u8 or i8.
void widen(const void* codes, DType type, size_t first, size_t n, int32_t zero, float* to);

/// Zero points of an optional input: one, or as many as `wanted`. Throws invalid_argument on another number.
class ZeroPoints {
 public:
  ZeroPoints(const RunContext& c, size_t input, size_t wanted, std::string_view what);
  /// Those of a constant; null: none.
  ZeroPoints(const Tensor* constant, size_t wanted, std::string_view what);
  int32_t at(size_t i) const;

 private:
  void set(DType type, const Shape& shape, const void* data, size_t wanted, std::string_view what);

  const void* data_ = nullptr;
  DType type_ = DType::u8;
  size_t step_ = 0;
};

}  // namespace retort::ops
