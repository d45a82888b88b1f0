// Matrix products of double, int32_t and int64_t: C[m,n] = A[m,k] · B[k,n]. Integers wrap around, so unsigned ones have
// the same bits. B is packed into panels [n / width][k][width], the last one padded with zeros. Sums run over k in one
// fixed order per shape and instruction level, so results do not depend on the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace retort::kernels {

enum class WideType : uint8_t { f64, i32, i64 };

size_t wide_panel_width(WideType type);
/// The buffer must be 64-byte aligned.
size_t wide_packed_bytes(WideType type, size_t k, size_t n);
/// Packs columns [n0, n1); n0 is a multiple of the panel width. B element (i, j) is b[i * row_stride + j *
/// column_stride]; `packed` is the memory of all of B.
void wide_pack_b(WideType type, const void* b, size_t row_stride, size_t column_stride, size_t k, size_t n0, size_t n1,
                 void* packed) noexcept;

struct GemmWideArgs {
  size_t m = 0, n = 0, k = 0;
  const void* a = nullptr;  ///< element (i, j) at i * a_row + j * a_column
  size_t a_row = 0, a_column = 1;
  const void* packed_b = nullptr;
  void* c = nullptr;  ///< row-major, row stride c_stride; may not overlap A or B
  size_t c_stride = 0;
};
/// Rows [m0, m1), columns [n0, n1) of a product; n0 is a multiple of the panel width.
struct WidePart {
  size_t m0 = 0, m1 = 0, n0 = 0, n1 = 0;
};
/// Distributed over the pool; k == 0 gives zeros.
void gemm_wide(WideType type, const GemmWideArgs& args, const Parallel& par) noexcept;

/// Rows of A times one vector, which need not be packed: c[i] = a_row i · x. A and x are contiguous.
struct GemvWideArgs {
  size_t m = 0, k = 0;
  const void* a = nullptr;
  size_t a_row = 0;
  const void* x = nullptr;
  void* c = nullptr;
};
void gemv_wide(WideType type, const GemvWideArgs& args, const Parallel& par) noexcept;

/// The reference: a plain loop. B is given as for wide_pack_b().
template <typename T>
void gemm_wide_reference(const GemmWideArgs& g, const T* b, size_t row_stride, size_t column_stride) noexcept {
  for (size_t i = 0; i < g.m; ++i) {
    for (size_t j = 0; j < g.n; ++j) {
      T sum = 0;
      for (size_t l = 0; l < g.k; ++l)
        sum += static_cast<const T*>(g.a)[i * g.a_row + l * g.a_column] * b[l * row_stride + j * column_stride];
      static_cast<T*>(g.c)[i * g.c_stride + j] = sum;
    }
  }
}

}  // namespace retort::kernels
