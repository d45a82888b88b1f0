// Single-precision matrix multiply with a packed right-hand side:
//
//   C[m,n] = act(A[m,k] · B[k,n] + bias[n] + residual[m,n])
//
// B is packed once (weights) or per call (attention) into panels of gemm_panel_width() columns: [n / width][k][width],
// the last panel padded with zeros. No memory outside A, C, bias and residual is read or written. The same code
// serves linear layers, convolutions (1x1 directly, others through gathered rows or Winograd) and attention. Sums run
// over k in one fixed order per (m, n, k) and ISA, so results do not depend on the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/activation.h"

namespace retort::kernels {

/// Applied to a tile of C while it is in the cache. Pointers may be null.
struct Epilogue {
  const float* bias = nullptr;      ///< [n]
  const float* residual = nullptr;  ///< [m, n], row stride residual_stride; may be C itself
  size_t residual_stride = 0;
  Activation activation;  ///< applied last
};

/// The element type of stored panels of B. If a 16-bit type represents every element exactly, B takes half the memory;
/// elements are widened when they are read, and a product has the same bits as with f32. A last panel that n does not
/// fill is always f32.
enum class PackedType : uint8_t {
  f32,
  bf16,
  f16,
  bf16_pairs,  ///< rounded, for products in bfloat16 arithmetic (gemm_bf16.h)
};

/// Packed B. A matrix that is packed in the run is f32 and has only the pointer.
struct PackedB {
  const void* data = nullptr;
  PackedType type = PackedType::f32;
  const uint8_t* fit = nullptr;  ///< result of gemm_compare_b; null: no columns are known to be suitable
  PackedB() = default;
  PackedB(const float* panels) : data(panels) {}  // NOLINT(google-explicit-constructor)
  PackedB(const void* panels, PackedType stored, const uint8_t* fit_pairs = nullptr)
      : data(panels), type(stored), fit(fit_pairs) {}
};

/// The destination of packed B.
struct PackTarget {
  void* data = nullptr;
  PackedType type = PackedType::f32;
  const Parallel* run = nullptr;               ///< packing returns early once it is cancelled; null: it does not
  PackTarget(float* panels) : data(panels) {}  // NOLINT(google-explicit-constructor)
  PackTarget(void* panels, PackedType stored, const Parallel* by = nullptr) : data(panels), type(stored), run(by) {}
};

/// Columns of one packed panel at the current ISA (two vectors).
size_t gemm_panel_width();
/// Bytes of packed B; the buffer must be 64-byte aligned.
size_t gemm_packed_bytes(size_t k, size_t n, PackedType type = PackedType::f32);
/// A 16-bit type that represents all these floats exactly, otherwise f32. Stops reading once the result is certain.
/// `values` need not be aligned. Numbers beyond float16's range, infinity and NaN are not representable in float16.
/// Also stops once `run` is cancelled.
PackedType gemm_exact_type(const float* values, size_t count, const Parallel& run = {}) noexcept;
/// B element (i, j) is b[i * row_stride + j * column_stride]; `b` need not be aligned. `to.type` must represent all
/// elements exactly. Some columns of a matrix that is not f32 can be packed as a matrix of their own if they end where
/// a panel ends.
void gemm_pack_b(const float* b, size_t row_stride, size_t column_stride, size_t k, size_t n, PackTarget to) noexcept;

/// Bytes for marks of the columns of packed B that are suitable for the sums of strassen.h: one byte per two full
/// panels; 0 if no product with these weights would use sums.
size_t gemm_fit_bytes(size_t k, size_t n);
/// Some columns of a matrix can be compared as a matrix of their own if they start where a pair of panels does. Returns
/// early once `run` is cancelled.
void gemm_compare_b(const PackedB& b, size_t k, size_t n, uint8_t* fit, const Parallel& run = {}) noexcept;

/// Whether this many bytes of B, which are multiplied again and again, stay in the second-level cache.
bool gemm_b_stays(size_t bytes) noexcept;

/// Rows of A that are windows of an image: a row is `runs` runs of k / runs floats, and every `line_rows` rows are a
/// line. `run_step` and `line_step` are the floats from one start to the next.
struct Windows {
  size_t runs = 1, run_step = 0;
  size_t line_rows = 0, line_step = 0;
};

struct GemmArgs {
  size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  ///< row-major, row stride a_stride
  size_t a_stride = 0;
  PackedB packed_b;
  float* c = nullptr;  ///< row-major, row stride c_stride; may not overlap A or B
  size_t c_stride = 0;
  Epilogue epilogue;
  const void* next_b = nullptr;      ///< packed B of the next product, prefetched during the last panel
  size_t panel_steps = 0;            ///< of k in a panel of float32, of which the first k are used; 0: k
  bool b_is_near = false;            ///< whether the previous product has prefetched the first panel
  bool b_stays = false;              ///< whether B is in the second-level cache, and is not requested ahead of time
  const Parallel* run = nullptr;     ///< once it is cancelled, the rest of C is not written; gemm() itself sets it
  const Windows* windows = nullptr;  ///< only for gemm_block() with B in float32, from AVX2 on
};

/// Computes the whole product, distributed over the pool. k == 0 gives act(bias + residual). Thread-safe for distinct
/// C. With scratch, 64-byte aligned, large products with suitable columns take seven multiplications instead of eight
/// (strassen.h): results differ by more than the order of the sum, and the last bits of a row depend on the other rows.
/// Without scratch, every element is the sum of its products.
void gemm(const GemmArgs& args, const Parallel& par, void* scratch = nullptr) noexcept;
/// Bytes of scratch with which gemm() saves multiplications, for Parallel::workers() of the call; 0 if it would not.
size_t gemm_scratch_bytes(size_t m, size_t n, size_t k, int workers);

/// Computes columns [n0, n1) of a product; n0 is a multiple of the panel width, n1 <= n (if packed_b is not f32: a
/// multiple of it, or n). Serial: for kernels that distribute their work themselves (convolution, attention). c and the
/// epilogue's pointers are those of the whole product.
void gemm_block(const GemmArgs& args, size_t n0, size_t n1) noexcept;

/// One row times a matrix B that changes with every call and is therefore not packed. Serial; the vectors and B need no
/// alignment.
struct GemvArgs {
  size_t n = 0, k = 0;
  const float* x = nullptr;  ///< [k]
  const float* b = nullptr;
  size_t b_stride = 0;      ///< floats from one row of B to the next
  float* y = nullptr;       ///< [n]; may not overlap x or B
  bool accumulate = false;  ///< add to y instead of setting it
};
/// y[j] = sum over i of x[i] · b[j, i], where B is [n, k]: dot products with rows, such as the scores of one query.
void gemv_rows(const GemvArgs& args) noexcept;

/// A few rows times a matrix B that changes with every call: to pack it takes longer than to multiply. Serial; nothing
/// needs alignment.
struct FewRowsArgs {
  size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  ///< rows of k elements, a_stride from each other
  size_t a_stride = 0;
  const float* b = nullptr;  ///< [k, n], row stride b_stride
  size_t b_stride = 0;
  float* c = nullptr;  ///< [m, n], row stride c_stride; may not overlap A or B
  size_t c_stride = 0;
};
/// C = A · B. An element is the sum of its products in order, whatever m and n are.
void gemm_few_rows(const FewRowsArgs& args) noexcept;

/// A product with m = 1, B in float32 and no activation. Serial; it neither divides the work nor prefetches B, which
/// takes gemm() longer than the product itself if B is small and in the caches.
void gemv_packed(const GemmArgs& args) noexcept;
/// Columns [n0, n1) of each of `count` groups of equal length, which divide the n columns of a product. All three are
/// multiples of the panel width.
struct ColumnGroups {
  size_t count = 1, n0 = 0, n1 = 0;
  bool backwards = false;  ///< in which direction B is read
};
/// gemv_packed() for some columns of a matrix such as those of a recurrent layer, which has a group for each gate.
void gemv_packed_groups(const GemmArgs& args, const ColumnGroups& groups) noexcept;
/// Whether gemv_packed() reads a matrix of that many bytes as fast as gemm() if it is multiplied again and again.
bool gemv_packed_pays(size_t bytes) noexcept;

/// The reference of gemm(): a plain loop.
void gemm_reference(size_t m, size_t n, size_t k, const float* a, size_t a_stride, const float* b, size_t b_row_stride,
                    size_t b_column_stride, float* c, size_t c_stride, const Epilogue& epilogue) noexcept;

}  // namespace retort::kernels
