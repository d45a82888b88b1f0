// LpNormalization: x divided by its p-norm (p = 1 or 2) along an axis; lines of zeros stay zero.
#include <cmath>

#include "kernels/elementwise/chunks.h"
#include "ops/nn/common/axis.h"

namespace retort::ops {
namespace {

struct LpNormalization {
  int64_t axis = -1, p = 2;
  static constexpr std::tuple attributes{attr("axis", &LpNormalization::axis), attr("p", &LpNormalization::p)};

  void check() const { require(p == 1 || p == 2, ErrorCode::invalid_argument, "p is {}", p); }
  void infer(InferContext& c) const { infer_along(c, axis); }
  // Power, sum and division for each element.
  Cost cost(const CostContext& c) const { return {.operations = 3 * c.count(0)}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const AxisView v = along(c.shape(0), axis);
    for_each_line<T>(c, v, [&](const T* x, T* y, size_t stride) {
      double sum = 0;
      for (size_t i = 0; i < v.extent; ++i) {
        const double e = x[i * stride];
        sum += p == 1 ? std::abs(e) : e * e;
      }
      const double norm = p == 1 ? sum : std::sqrt(sum);
      for (size_t i = 0; i < v.extent; ++i) y[i * stride] = norm != 0 ? T(double(x[i * stride]) / norm) : T(0);
    });
  }

  // Handles neighbouring lines together, with the sum of each line in eight parts.
  void fast(RunContext& c, std::type_identity<float>) const {
    const AxisView v = along(c.shape(0), axis);
    if (v.inner != 1 || v.extent == 0) return reference<float>(c);
    const float* const x = c.input<float>(0).data();
    float* const y = c.output<float>().data();
    const auto lines = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const double sum = total(x + i * v.extent, v.extent);
        const double norm = p == 1 ? sum : std::sqrt(sum), scale = 1 / norm;
        for (size_t k = i * v.extent; k < (i + 1) * v.extent; ++k) y[k] = norm != 0 ? float(double(x[k]) * scale) : 0;
      }
    };
    kernels::for_chunks(c.parallel(), v.outer, lines, std::max<size_t>(1, kernels::kChunk / v.extent));
  }

 private:
  double total(const float* x, size_t n) const {
    double parts[8] = {};
    size_t i = 0;
    const auto add = [&](auto term) {
      for (; i + 8 <= n; i += 8) {
        for (size_t l = 0; l < 8; ++l) parts[l] += term(double(x[i + l]));
      }
      for (; i < n; ++i) parts[i % 8] += term(double(x[i]));
    };
    if (p == 1)
      add([](double e) { return std::abs(e); });
    else
      add([](double e) { return e * e; });
    return ((parts[0] + parts[4]) + (parts[1] + parts[5])) + ((parts[2] + parts[6]) + (parts[3] + parts[7]));
  }
};

}  // namespace

extern const OpDef op_lp_normalization;
constinit const OpDef op_lp_normalization = define<LpNormalization>({
    .name = "LpNormalization",
    .since = {1, 22},
    .inputs = {"input: T"},
    .outputs = {"output: T"},
    .types = kFloats,
    .traits = kMayAliasInput0,
});

}  // namespace retort::ops
