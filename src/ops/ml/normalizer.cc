// Normalizer: each row of [N, features], or a vector, divided by its largest element, its sum of absolute values or its
// Euclidean norm. A row whose divisor is 0 is unchanged.
//
// MAX uses the largest element, not the largest absolute value, and ignores NaN, as ONNX Runtime does.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "ops/ml/common/features.h"

namespace retort::ops {
namespace {

struct Normalizer {
  std::string norm = "MAX";
  static constexpr std::tuple attributes{attr("norm", &Normalizer::norm)};

  void check() const {
    require(norm == "MAX" || norm == "L1" || norm == "L2", ErrorCode::invalid_argument,
            "norm \"{}\" is not one of MAX, L1, L2", norm);
  }
  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    const Shape& x = c.shape(0);
    require(x.rank() == 1 || x.rank() == 2, ErrorCode::invalid_argument, "X has shape {}, expected [N, features]",
            c.dims().text(x));
    c.set(0, DType::f32, x);
  }
  Cost cost(const CostContext& c) const { return {.operations = 3 * c.count(0)}; }

  template <typename T>
  void reference(RunContext& c) const {
    normalize(c.input<T>(0).data(), c.output<float>().data(), c.out_count(), size_t(c.shape(0).back()));
  }
  template <Feature T>
  void fast(RunContext& c, std::type_identity<T>) const {
    constexpr size_t kRows = 64;
    const size_t n = size_t(c.shape(0).back()), block = kRows * n, count = c.out_count();
    if (count == 0) return;
    c.parallel().for_each(ceil_div(count, block), [&](size_t i, int) {
      const size_t first = i * block;
      normalize(c.input<T>(0).data() + first, c.output<float>().data() + first, std::min(block, count - first), n);
    });
  }

 private:
  template <typename T>
  void normalize(const T* x, float* y, size_t count, size_t features) const {
    for (size_t i = 0; i < count; i += features) {
      const double by = divisor(x + i, features);
      for (size_t k = i; k < i + features; ++k) y[k] = by == 0 ? float(x[k]) : float(double(x[k]) / by);
    }
  }
  template <typename T>
  double divisor(const T* x, size_t n) const {
    double sum = 0, max = std::numeric_limits<float>::lowest();
    if (norm == "MAX") {
      for (size_t k = 0; k < n; ++k) max = std::max(max, double(x[k]));
      return max;
    }
    if (norm == "L1") {
      for (size_t k = 0; k < n; ++k) sum += std::abs(double(x[k]));
      return sum;
    }
    for (size_t k = 0; k < n; ++k) sum += double(x[k]) * double(x[k]);
    return std::sqrt(sum);
  }
};

}  // namespace

extern const OpDef op_normalizer;
constinit const OpDef op_normalizer = define<Normalizer>({
    .name = "Normalizer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: float"},
    .types = kFeatureTypes,
});

}  // namespace retort::ops
