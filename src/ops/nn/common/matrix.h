// Batches of matrix products: shapes by the numpy rule, offsets of each matrix, and the single-precision product, whose
// right-hand side is packed before or during the product.
#pragma once
#include <memory>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "ops/op.h"

namespace retort::ops {

/// The memory layout of a matrix: element (i, j) is at i · row + j · column.
struct Strides {
  size_t row = 0, column = 1;
};

/// A[..., m, k] · B[..., k, n] → C[..., m, n]; leading axes broadcast. A vector is one row (of A) or one column (of B).
struct MatMulShape {
  size_t m = 1, n = 1, k = 1;
  size_t batch = 1;               ///< number of products; 1 if B is a single matrix, which all rows of A then use
  Shape batch_shape;              ///< extents of the batch axes
  Shape a_batch, b_batch;         ///< batch axes of A and of B, not broadcast
  size_t a_size = 0, b_size = 0;  ///< elements of one matrix
  /// Index of the matrix of A (or of B) in product `i`.
  size_t matrix_of(const Shape& own, size_t i) const;
  size_t a_offset(size_t i) const { return matrix_of(a_batch, i) * a_size; }
  size_t b_offset(size_t i) const { return matrix_of(b_batch, i) * b_size; }
};
/// `a` and `b` are the shapes to multiply, after the transpositions of the operator. Extents are concrete.
MatMulShape matmul_shape(const Shape& a, const Shape& b);
/// The shape of the product; symbols are allowed. Throws invalid_argument if the inner extents differ.
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
  size_t fit = 0;       ///< offset in bytes from a matrix to the data of gemm_compare_b; 0: no such data
  bool strict = false;  ///< products must be plain sums
  bool rounds() const { return type == kernels::PackedType::bf16_pairs; }
  const void* at(size_t i) const { return static_cast<const char*>(memory.get()) + (count == 1 ? 0 : i * stride); }
  kernels::PackedB matrix(size_t i) const {
    return {at(i), type, fit > 0 ? static_cast<const uint8_t*>(at(i)) + fit : nullptr};
  }
};
/// Packs in 16 bits if these represent all of `b` exactly (ADR 0010), or rounds a single matrix to bfloat16 if the
/// session multiplies in bfloat16. `b` need not be aligned. `factors`, if given, scale the n columns before these are
/// rounded to bfloat16; without that rounding, the result is in float. Throws model_load_canceled if loading is cancelled
/// meanwhile.
std::unique_ptr<PackedMatrices> pack_matrices(const PrepareContext& c, const Tensor& b, size_t count, size_t k,
                                              size_t n, Strides strides, const float* factors = nullptr);

/// One product with the matrix of `packed` that args.packed_b is, as gemm(). Scratch has product_scratch() bytes, or is
/// null if there are several matrices.
void multiply_packed(const kernels::GemmArgs& args, const PackedMatrices& packed, const Parallel& parallel,
                     void* scratch);
size_t product_scratch(size_t m, size_t n, size_t k, const PackedMatrices& packed, int workers);

/// C = A · B in float. If `packed` is null, B is packed into `scratch`. Every row of A is contiguous.
struct Product {
  MatMulShape shape;
  const float *a = nullptr, *b = nullptr;
  Strides b_strides;
  const PackedMatrices* packed = nullptr;
  float* c = nullptr;
  kernels::Epilogue epilogue = {};  ///< only the bias, and the residual if batch is 1
};
void multiply(const Product& p, void* scratch, const Parallel& parallel);
/// `columns_touch`: whether b_strides.column will be 1; more products then need no scratch.
size_t multiply_scratch(const MatMulShape& shape, const PackedMatrices* packed, int workers,
                        bool columns_touch = false);

/// The same for double and for 32- and 64-bit integers.
struct WideProduct {
  DType type = DType::f64;
  MatMulShape shape;
  const void *a = nullptr, *b = nullptr;
  Strides a_strides, b_strides;
  const PackedMatrices* packed = nullptr;  ///< made by pack_wide_matrices()
  void* c = nullptr;
};
bool is_wide(DType type);
std::unique_ptr<PackedMatrices> pack_wide_matrices(const PrepareContext& c, const Tensor& b, size_t count, size_t k,
                                                   size_t n, Strides strides);
void multiply_wide(const WideProduct& p, void* scratch, const Parallel& parallel);
size_t wide_scratch(DType type, const MatMulShape& shape, bool packed);

}  // namespace retort::ops
