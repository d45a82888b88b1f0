#include "kernels/distance/distance.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "kernels/elementwise/kernel_testing.h"
#include "kernels/gemm/gemm.h"

namespace retort::kernels {
namespace {

// Rows far from the origin and close to each other.
std::vector<float> far_rows(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(1000, 1);
  return testing::drawn(normal, random, count);
}

void expect_distances(size_t m, size_t n, size_t k) {
  SCOPED_TRACE(cat("{}x{}x{} {}", m, n, k, isa_name(current_isa())));
  const std::vector<float> a = far_rows(m * k, 1), b = far_rows(n * k, 2);
  testing::Lines packed(gemm_packed_bytes(k, n));
  gemm_pack_b(b.data(), 1, k, k, n, packed.floats());
  std::vector<float> c(m * n);
  squared_distances({.m = m, .n = n, .k = k, .a = a.data(), .packed_b = packed.floats(), .c = c.data()});
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t p = 0; p < k; ++p)
        sum += (double(a[i * k + p]) - b[j * k + p]) * (double(a[i * k + p]) - b[j * k + p]);
      ASSERT_NEAR(c[i * n + j], sum, 1e-6 * (1 + sum) * double(k + 1)) << i << ", " << j;
    }
  }
}

TEST(SquaredDistances, OfRowsThatLieCloseTogether) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const size_t m : {0, 1, 3, 4, 9}) {
      for (const size_t n : {0, 1, 7, 8, 16, 31, 33, 70}) {
        for (const size_t k : {0, 1, 5, 64}) expect_distances(m, n, k);
      }
    }
  }
}

}  // namespace
}  // namespace retort::kernels
