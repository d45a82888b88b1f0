// Selu: y = gamma * x above zero, gamma * alpha * (exp(x) - 1) below.
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct Selu : ActivationOp<Selu> {
  float alpha = 1.67326319217681884765625f;
  float gamma = 1.05070102214813232421875f;
  static constexpr std::tuple attributes{attr("alpha", &Selu::alpha), attr("gamma", &Selu::gamma)};
  template <typename T>
  T apply(T x) const {
    return T(gamma) * (x > T(0) ? x : T(alpha) * std::expm1(x));
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    kernels::unary({kernels::Unary::Kind::selu, alpha, gamma}, x, y, par);
  }
};

}  // namespace

extern const OpDef op_selu;
constinit const OpDef op_selu = define<Selu>({
    .name = "Selu",
    .since = {1, 6, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
