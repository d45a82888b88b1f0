// com.microsoft.Inverse: the inverse of each square matrix, by elimination with pivots in double precision. For a
// singular matrix, its elements are those of a division by zero: infinities and NaN.
#include <cmath>

#include "ops/math/square.h"

namespace retort::ops {
namespace {

struct Inverse {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), square_matrices(c));
  }
  Cost cost(const CostContext& c) const { return {.operations = c.count(0) * c.extent(0, -1) * 2}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto n = size_t(c.shape(0).back());
    if (c.count(0) == 0) return;
    const size_t matrices = c.count(0) / (n * n);
    std::vector<double> work(2 * n * n);  // the matrix and its inverse
    for (size_t i = 0; i < matrices && !c.parallel().cancelled(); ++i) {
      std::copy_n(c.input<T>(0).data() + i * n * n, n * n, work.begin());
      invert(work.data(), work.data() + n * n, n);
      for (size_t k = 0; k < n * n; ++k) c.output<T>()[i * n * n + k] = T(work[n * n + k]);
    }
  }

 private:
  static void invert(double* m, double* y, size_t n) {
    std::fill_n(y, n * n, 0.0);
    for (size_t k = 0; k < n; ++k) y[k * n + k] = 1;
    for (size_t k = 0; k < n; ++k) {
      size_t pivot = k;
      for (size_t r = k + 1; r < n; ++r) pivot = std::abs(m[r * n + k]) > std::abs(m[pivot * n + k]) ? r : pivot;
      if (pivot != k) {
        std::swap_ranges(m + k * n, m + (k + 1) * n, m + pivot * n);
        std::swap_ranges(y + k * n, y + (k + 1) * n, y + pivot * n);
      }
      const double divisor = m[k * n + k];
      for (size_t j = 0; j < n; ++j) {
        m[k * n + j] /= divisor;
        y[k * n + j] /= divisor;
      }
      for (size_t r = 0; r < n; ++r) {
        const double factor = m[r * n + k];
        if (r == k || factor == 0) continue;
        for (size_t j = 0; j < n; ++j) {
          m[r * n + j] -= factor * m[k * n + j];
          y[r * n + j] -= factor * y[k * n + j];
        }
      }
    }
  }
};

}  // namespace

extern const OpDef op_inverse;
constinit const OpDef op_inverse = define<Inverse>({
    .name = "Inverse",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats & ~types({DType::bf16}),
});

}  // namespace retort::ops
