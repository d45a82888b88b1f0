// Celu: y = max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct Celu : ActivationOp<Celu> {
  float alpha = 1.0f;
  static constexpr std::tuple attributes{attr("alpha", &Celu::alpha)};
  template <typename T>
  T apply(T x) const {
    return x > T(0) ? x : T(alpha) * std::expm1(x / T(alpha));
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    if (alpha > 0) return kernels::unary({kernels::Unary::Kind::celu, alpha}, x, y, par);
    for (size_t i = 0; i < x.size(); ++i) y[i] = apply(x[i]);  // the exponent may be above zero
  }
};

}  // namespace

extern const OpDef op_celu;
constinit const OpDef op_celu = define<Celu>({
    .name = "Celu",
    .since = {12, 28},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
