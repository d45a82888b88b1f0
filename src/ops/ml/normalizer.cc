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
      const T* const x = c.input<T>(0).data() + first;
      float* const y = c.output<float>().data() + first;
      if constexpr (std::same_as<T, float>)
        normalize_floats(x, y, std::min(block, count - first), n);
      else
        normalize(x, y, std::min(block, count - first), n);
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

  // With the divisor in eight parts. A sum may be outside the range of floats; other divisors divide floats.
  void normalize_floats(const float* x, float* y, size_t count, size_t features) const {
    const auto rows = [&](const auto& divisor) {
      for (size_t i = 0; i < count; i += features) {
        const double by = divisor(x + i);
        const float rounded = float(by);
        if (std::isnormal(rounded)) {
          for (size_t k = i; k < i + features; ++k) y[k] = x[k] / rounded;
        } else {
          for (size_t k = i; k < i + features; ++k) y[k] = by == 0 ? x[k] : float(double(x[k]) / by);
        }
      }
    };
    const size_t n = features;
    if (norm == "MAX") {
      // The comparison is false for NaN, which is so ignored.
      const auto larger = [](float a, float b) { return a < b ? b : a; };
      return rows([&](const float* row) { return fold(row, n, std::numeric_limits<float>::lowest(), larger, larger); });
    }
    const auto sum = [](double a, double b) { return a + b; };
    const auto l1 = [](double a, float e) { return a + std::abs(double(e)); };
    const auto l2 = [](double a, float e) { return a + double(e) * double(e); };
    if (norm == "L1") return rows([&](const float* row) { return fold(row, n, 0.0, l1, sum); });
    rows([&](const float* row) { return std::sqrt(fold(row, n, 0.0, l2, sum)); });
  }
  template <typename S, class Step, class Join>
  static S fold(const float* x, size_t n, S start, const Step& step, const Join& join) {
    S parts[8];
    std::ranges::fill(parts, start);
    S rest = start;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      for (size_t l = 0; l < 8; ++l) parts[l] = step(parts[l], x[i + l]);
    }
    for (; i < n; ++i) rest = step(rest, x[i]);
    const S even = join(join(parts[0], parts[4]), join(parts[2], parts[6]));
    const S odd = join(join(parts[1], parts[5]), join(parts[3], parts[7]));
    return join(join(even, odd), rest);
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
