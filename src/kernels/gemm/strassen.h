// Strassen's multiplication (V. Strassen, "Gaussian elimination is not optimal", 1969), one level deep: with A, B and C
// divided in halves both ways, seven products of quarters replace the usual eight,
//
//   P1 = (A11 + A22)(B11 + B22)   P4 = A22 (B21 - B11)     C11 = P1 + P4 - P5 + P7   C12 = P3 + P5
//   P2 = (A21 + A22) B11          P5 = (A11 + A12) B22     C21 = P2 + P4             C22 = P1 - P2 + P3 + P6
//   P3 = A11 (B12 - B22)          P6 = (A21 - A11)(B11 + B12)
//                                 P7 = (A12 - A22)(B21 + B22)
//
// The halves of the columns are two neighbouring panels of packed B, the halves of k the first and the last k / 2
// steps, the halves of the rows those of a block. B is therefore packed as for any other product, sums of B are
// computed from a block of a panel as it is read, and the products use the same register tiles.
//
// An element of C takes part in sums with another row and another column, and is rounded to their size. Blocks whose
// paired rows, and pairs of panels whose paired columns, differ much in size, or contain infinity or NaN, are
// multiplied in the plain way. Columns are compared when they are packed, rows in the run.
#pragma once
#include "base/checked.h"
#include "kernels/gemm/gemm.h"

namespace retort::kernels::gemm_detail {

inline constexpr size_t kSums = 5;  ///< of A; those of B are computed one after the other
inline constexpr size_t kProducts = 7;

/// Whether any product is faster this way at the current level on this processor. Packed B has marks of its columns
/// then.
bool saves_products();
/// Whether it is faster than the plain product. k must be even.
bool strassen_pays(size_t m, size_t n, size_t k);

/// The division of a product. The rounding of results depends only on the shape and the panel width; what is computed
/// at the same time also depends on the number of workers.
struct StrassenPlan {
  size_t half = 0;        ///< half of k
  size_t k_block = 0;     ///< steps of a half that are taken together
  size_t sum_stride = 0;  ///< floats from one row of a sum of A to the next
  size_t block_rows = 0, blocks = 0;
  size_t slab_blocks = 0;  ///< blocks whose sums of A are in memory at a time
  size_t group_columns = 0, column_groups = 0;
  size_t sum_floats = 0;      ///< floats from one sum of A to the next; a block has five
  size_t b_floats = 0;        ///< floats of a sum of B
  size_t product_floats = 0;  ///< floats from one product to the next
  size_t worker_floats = 0;
};
/// m > 0, even k > 0.
StrassenPlan plan_strassen(size_t m, size_t n, size_t k, int workers);

/// Floats from one to the next of several matrices that are read and written together: with a multiple of 4 KiB they
/// would evict each other from the first-level cache.
inline constexpr size_t spread(size_t floats) { return round_up(floats, 1024) + 5 * 32; }

/// Rows [m0, m1) times columns [n0, n1); n0 is a multiple of the width of two panels.
struct StrassenPart {
  size_t m0 = 0, m1 = 0, n0 = 0, n1 = 0;
  const float* sums = nullptr;  ///< of A: five, sum_floats apart
  bool plain = false;           ///< whether the rows are not suitable for sums
  float* scratch = nullptr;     ///< of the worker
};

/// The functions that are compiled per instruction level.
struct StrassenFunctions {
  /// Computes the sums of a row of A and its partner (null: none), `apart` floats from each other. Returns false if the
  /// rows are not suitable for sums.
  bool (*sum_rows)(const float* top, const float* bottom, size_t half, float* sums, size_t apart) noexcept;
  /// Whether the paired columns of two panels are suitable for sums.
  bool (*fit)(const PackedB& pair, size_t k) noexcept;
  void (*multiply)(const GemmArgs& args, const StrassenPlan& plan, const StrassenPart& part) noexcept;
};
StrassenFunctions select_strassen();

/// Computes the product according to `plan`; scratch has strassen_bytes().
void multiply_strassen(const GemmArgs& args, const StrassenPlan& plan, const Parallel& par, void* scratch) noexcept;
size_t strassen_bytes(const StrassenPlan& plan, int workers);

}  // namespace retort::kernels::gemm_detail
