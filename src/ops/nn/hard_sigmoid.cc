// HardSigmoid: y = max(0, min(1, alpha * x + beta)).
#include <algorithm>

#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct HardSigmoid : ActivationOp<HardSigmoid> {
  float alpha = 0.2f;
  float beta = 0.5f;
  static constexpr std::tuple attributes{attr("alpha", &HardSigmoid::alpha), attr("beta", &HardSigmoid::beta)};
  template <typename T>
  T apply(T x) const {
    return std::clamp(T(alpha) * x + T(beta), T(0), T(1));  // keeps NaN
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    activate(kernels::Activation::Kind::hard_sigmoid, x, y, par, alpha, beta);
  }
};

}  // namespace

extern const OpDef op_hard_sigmoid;
constinit const OpDef op_hard_sigmoid = define<HardSigmoid>({
    .name = "HardSigmoid",
    .since = {1, 6, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
