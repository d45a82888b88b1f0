// Squared distances between the rows of two matrices. The differences themselves are squared; |a|² + |b|² - 2 a · b
// would lose all digits if rows are close together and far from the origin. Thread-safe, no allocation.
#pragma once
#include <cstddef>

namespace retort::kernels {

struct DistanceArgs {
  size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  ///< [m, k], row stride k
  const float* packed_b =
      nullptr;         ///< n rows of k floats, packed as columns by gemm_pack_b() with row stride 1 and column stride k
  float* c = nullptr;  ///< [m, n], row stride n; may not overlap A or B
};

/// c[i, j] = Σ (a[i, p] - b[j, p])², summed in the order of p. Serial.
void squared_distances(const DistanceArgs& args) noexcept;

}  // namespace retort::kernels
