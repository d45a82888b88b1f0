// LpNormalization: x divided by its p-norm (p = 1 or 2) along an axis; lines of zeros stay zero.
#include <cmath>

#include "ops/nn/common/axis.h"

namespace retort::ops {
namespace {

struct LpNormalization {
  int64_t axis = -1, p = 2;
  static constexpr std::tuple attributes{attr("axis", &LpNormalization::axis), attr("p", &LpNormalization::p)};

  void check() const { require(p == 1 || p == 2, ErrorCode::invalid_argument, "p is {}", p); }
  void infer(InferContext& c) const { infer_along(c, axis); }

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
