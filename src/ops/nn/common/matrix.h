// Batches of matrix products: shapes by the numpy rule, offsets of each matrix, and the single-precision product with a
// right-hand side that was packed before or is packed on the way.
#pragma once
#include <memory>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "ops/op.h"

namespace retort::ops {

/// How a matrix lies in memory: element (i, j) at i · row + j · column.
struct Strides {
  size_t row = 0, column = 1;
};

/// A[..., m, k] · B[..., k, n] → C[..., m, n]; leading axes broadcast. Vectors stand for one row or one column.
struct MatMulShape {
  size_t m = 1, n = 1, k = 1;
  size_t batch = 1;               ///< products; 1 when B is one matrix, whose rows all of A's then share
  Shape batch_shape;              ///< extents of the batch axes
  Shape a_batch, b_batch;         ///< those of A and B, not broadcast
  size_t a_size = 0, b_size = 0;  ///< elements of one matrix
  /// Index of the matrix of A (or of B) for product `i`.
  size_t matrix_of(const Shape& own, size_t i) const;
  size_t a_offset(size_t i) const { return matrix_of(a_batch, i) * a_size; }
  size_t b_offset(size_t i) const { return matrix_of(b_batch, i) * b_size; }
};
/// `a` and `b` as they are multiplied, after the transpositions that the operator asks for. Concrete extents.
MatMulShape matmul_shape(const Shape& a, const Shape& b);
/// The shape of the product; symbols allowed. Throws invalid_argument when the inner extents clash.
Shape infer_matmul(DimTable& dims, const Shape& a, const Shape& b);

/// The cost of a matrix product with that inner extent.
inline Cost product_cost(const CostContext& c, double inner) {
  return {.multiply_adds = c.out_count() * inner, .tiles = true};
}

/// Matrices packed by gemm_pack_b or wide_pack_b, one after the other.
struct PackedMatrices : State {
  std::shared_ptr<const void> memory;
  size_t count = 0, stride = 0;  ///< stride in bytes
  kernels::PackedType type = kernels::PackedType::f32;
  size_t fit = 0;       ///< bytes from a matrix to what gemm_compare_b says of it; 0: nothing
  bool strict = false;  ///< products are plain sums
  const void* at(size_t i) const { return static_cast<const char*>(memory.get()) + (count == 1 ? 0 : i * stride); }
  kernels::PackedB matrix(size_t i) const {
    return {at(i), type, fit > 0 ? static_cast<const uint8_t*>(at(i)) + fit : nullptr};
  }
};
/// In 16 bits where these hold all of `b` (ADR 0010). `b` need not be aligned. `factors`, if any: of the n columns, in
/// float then.
std::unique_ptr<PackedMatrices> pack_matrices(const PrepareContext& c, const Tensor& b, size_t count, size_t k,
                                              size_t n, Strides strides, const float* factors = nullptr);

/// C = A · B in float; `packed` may be null: B is packed into `scratch` then. Every row of A is contiguous.
struct Product {
  MatMulShape shape;
  const float *a = nullptr, *b = nullptr;
  Strides b_strides;
  const PackedMatrices* packed = nullptr;
  float* c = nullptr;
  kernels::Epilogue epilogue = {};  ///< bias only, and residual when batch is 1
};
void multiply(const Product& p, void* scratch, const Parallel& parallel);
size_t multiply_scratch(const MatMulShape& shape, const PackedMatrices* packed, int workers);

/// The same of double and of 32- and 64-bit integers.
struct WideProduct {
  DType type = DType::f64;
  MatMulShape shape;
  const void *a = nullptr, *b = nullptr;
  Strides a_strides, b_strides;
  const PackedMatrices* packed = nullptr;  ///< of pack_wide_matrices()
  void* c = nullptr;
};
bool is_wide(DType type);
std::unique_ptr<PackedMatrices> pack_wide_matrices(const PrepareContext& c, const Tensor& b, size_t count, size_t k,
                                                   size_t n, Strides strides);
void multiply_wide(const WideProduct& p, void* scratch, const Parallel& parallel);
size_t wide_scratch(DType type, const MatMulShape& shape, bool packed);

}  // namespace retort::ops
