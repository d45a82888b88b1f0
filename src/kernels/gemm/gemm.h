// Single-precision matrix multiply with a packed right-hand side:
//
//   C[m,n] = act(A[m,k] · B[k,n] + bias[n] + residual[m,n])
//
// B is packed once (weights) or per call (attention) into panels of gemm_panel_width() columns: [n / width][k][width],
// the last panel padded with zeros. Nothing outside A, C, bias and residual as described is read or written. One block
// serves linear layers, convolutions (1x1 directly, others through gathered rows or Winograd) and attention. Sums run
// over k in one fixed order per (m, n, k) and ISA, so results do not depend on the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/activation.h"

namespace retort::kernels {

/// What happens to a tile of C while it is hot. Pointers may be null.
struct Epilogue {
  const float* bias = nullptr;      ///< [n]
  const float* residual = nullptr;  ///< [m, n], row stride residual_stride; may be C itself
  size_t residual_stride = 0;
  Activation activation;  ///< applied last
};

/// How the panels of B are stored. In 16 bits, where these hold every element exactly, B is half as long; elements are
/// widened as they are read, and a product has the same bits as with f32. A last panel that n does not fill is f32 always.
enum class PackedType : uint8_t { f32, bf16, f16 };

/// Packed B. What is packed in passing is f32, and no more than a pointer.
struct PackedB {
  const void* data = nullptr;
  PackedType type = PackedType::f32;
  const uint8_t* fit = nullptr;  ///< of gemm_compare_b; null: no columns are known to be fit
  PackedB() = default;
  PackedB(const float* panels) : data(panels) {}  // NOLINT(google-explicit-constructor)
  PackedB(const void* panels, PackedType stored, const uint8_t* fit_pairs = nullptr)
      : data(panels), type(stored), fit(fit_pairs) {}
};

/// Where B is packed to.
struct PackTarget {
  void* data = nullptr;
  PackedType type = PackedType::f32;
  PackTarget(float* panels) : data(panels) {}  // NOLINT(google-explicit-constructor)
  PackTarget(void* panels, PackedType stored) : data(panels), type(stored) {}
};

/// Columns of one packed panel at the current ISA (two vectors).
size_t gemm_panel_width();
/// Bytes of packed B; the buffer must be 64-byte aligned.
size_t gemm_packed_bytes(size_t k, size_t n, PackedType type = PackedType::f32);
/// A 16-bit type that holds all these floats bit for bit, else f32. Reads no further than what tells. `values` may lie
/// at any byte. What float16 has no finite number for, infinity and NaN, it does not hold.
PackedType gemm_exact_type(const float* values, size_t count) noexcept;
/// B element (i, j) is b[i * row_stride + j * column_stride]; `b` may lie at any byte. `to.type` holds them all exactly.
/// Some columns of a matrix that is not f32 are packed as a matrix of their own if they end where a panel ends.
void gemm_pack_b(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t n, PackTarget to) noexcept;

/// Which columns of packed B are fit for the sums of strassen.h: one byte for each two full panels. Bytes that weights
/// want for it, 0 where no product with them would take sums.
size_t gemm_fit_bytes(size_t k, size_t n);
/// Some columns of a matrix are compared as a matrix of their own if they start where a pair of panels does.
void gemm_compare_b(const PackedB& b, size_t k, size_t n, uint8_t* fit) noexcept;

struct GemmArgs {
  size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  ///< row-major, row stride a_stride
  size_t a_stride = 0;
  PackedB packed_b;
  float* c = nullptr;  ///< row-major, row stride c_stride; may not overlap A or B
  size_t c_stride = 0;
  Epilogue epilogue;
  const void* next_b = nullptr;   ///< packed B of the product that follows: prefetched during the last panel
  bool b_is_near = false;         ///< the product before has prefetched the first panel
  const Parallel* run = nullptr;  ///< once cancelled, the rest of C is left as it is; gemm() itself sets it
};

/// Whole product, spread over the pool. k == 0 gives act(bias + residual). Thread-safe for distinct C. With scratch,
/// 64-byte aligned, large products with columns that are fit for it take seven multiplications where the sum has eight
/// (strassen.h): results differ by more than the order of the sum, and the last bits of a row depend on what the other
/// rows are. Without, every element is the sum of its products.
void gemm(const GemmArgs& args, const Parallel& par, void* scratch = nullptr) noexcept;
/// Bytes of scratch with which gemm() saves multiplications, for Parallel::workers() of its call; 0 where it would not.
size_t gemm_scratch_bytes(size_t m, size_t n, size_t k, int workers);

/// Columns [n0, n1) of a product, n0 a multiple of the panel width, n1 <= n (if packed_b is not f32: a multiple of it,
/// or n). Serial: for kernels that spread their work themselves (convolution, attention). c and the epilogue's pointers
/// are those of the whole product.
void gemm_block(const GemmArgs& args, size_t n0, size_t n1) noexcept;

/// One row times a matrix B that changes with every call and so is not packed. Serial; the vectors and B may lie
/// anywhere and need no alignment.
struct GemvArgs {
  size_t n = 0, k = 0;
  const float* x = nullptr;  ///< [k]
  const float* b = nullptr;
  size_t b_stride = 0;      ///< floats from one row of B to the next
  float* y = nullptr;       ///< [n]; may not overlap x or B
  bool accumulate = false;  ///< add to y instead of setting it
};
/// y[j] = sum over i of x[i] · b[j, i], B being [n, k]: dot products with rows, as the scores of one query.
void gemv_rows(const GemvArgs& args) noexcept;

/// The plain loop: the meaning of gemm().
void gemm_reference(size_t m, size_t n, size_t k, const float* a, size_t a_stride, const float* b, size_t b_row_stride,
                    size_t b_column_stride, float* c, size_t c_stride, const Epilogue& epilogue) noexcept;

}  // namespace retort::kernels
