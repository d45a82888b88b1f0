// Det: the determinant of each square matrix, by elimination with pivots in double precision.
#include <cmath>

#include "ops/math/square.h"

namespace retort::ops {
namespace {

struct Det {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = square_matrices(c);
    c.set(0, c.dtype(0), Shape(std::span<const int64_t>(x).first(x.rank() - 2)));
  }
  // Gaussian elimination.
  Cost cost(const CostContext& c) const { return {.operations = c.count(0) * c.extent(0, -1) * 2 / 3}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto n = size_t(c.shape(0).back());
    std::vector<double> m(n * n);
    for (size_t i = 0; i < c.out_count(); ++i) {
      std::copy_n(c.input<T>(0).data() + i * n * n, n * n, m.begin());
      c.output<T>()[i] = T(determinant(m, n, c.parallel()));
    }
  }

 private:
  static double determinant(std::vector<double>& m, size_t n, const Parallel& run) {
    double product = 1;
    for (size_t k = 0; k < n && !run.cancelled(); ++k) {
      size_t pivot = k;
      for (size_t r = k + 1; r < n; ++r) pivot = std::abs(m[r * n + k]) > std::abs(m[pivot * n + k]) ? r : pivot;
      if (m[pivot * n + k] == 0) return 0;
      if (pivot != k) {
        std::swap_ranges(m.begin() + ptrdiff_t(k * n), m.begin() + ptrdiff_t((k + 1) * n),
                         m.begin() + ptrdiff_t(pivot * n));
        product = -product;
      }
      product *= m[k * n + k];
      for (size_t r = k + 1; r < n; ++r) {
        const double factor = m[r * n + k] / m[k * n + k];
        for (size_t j = k; j < n; ++j) m[r * n + j] -= factor * m[k * n + j];
      }
    }
    return product;
  }
};

}  // namespace

extern const OpDef op_det;
constinit const OpDef op_det = define<Det>({
    .name = "Det",
    .since = {11, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
