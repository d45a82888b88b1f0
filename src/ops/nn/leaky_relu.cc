// LeakyRelu: y = x for x >= 0, alpha * x below zero. NaN stays NaN.
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct LeakyRelu : ActivationOp<LeakyRelu> {
  float alpha = 0.01f;
  static constexpr std::tuple attributes{attr("alpha", &LeakyRelu::alpha)};
  template <typename T>
  T apply(T x) const {
    return x < T(0) ? T(alpha) * x : x;
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    activate(kernels::Activation::Kind::leaky_relu, x, y, par, alpha);
  }
};

}  // namespace

extern const OpDef op_leaky_relu;
constinit const OpDef op_leaky_relu = define<LeakyRelu>({
    .name = "LeakyRelu",
    .since = {1, 6, 16},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
