// Elu: y = x above zero, alpha * (exp(x) - 1) below.
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct Elu : ActivationOp<Elu> {
  float alpha = 1.0f;
  static constexpr std::tuple attributes{attr("alpha", &Elu::alpha)};
  template <typename T>
  T apply(T x) const {
    return x < T(0) ? T(alpha) * std::expm1(x) : x;
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    kernels::unary({kernels::Unary::Kind::elu, alpha}, x, y, par);
  }
};

}  // namespace

extern const OpDef op_elu;
constinit const OpDef op_elu = define<Elu>({
    .name = "Elu",
    .since = {1, 6, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
