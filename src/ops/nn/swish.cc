// Swish: y = x * sigmoid(alpha * x).
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct Swish : ActivationOp<Swish> {
  float alpha = 1.0f;
  static constexpr std::tuple attributes{attr("alpha", &Swish::alpha)};
  template <typename T>
  T apply(T x) const {
    return x / (T(1) + std::exp(-T(alpha) * x));
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    if (alpha == 1) return activate(kernels::Activation::Kind::silu, x, y, par);
    if (alpha > 0) return kernels::unary({kernels::Unary::Kind::scaled_silu, alpha}, x, y, par);
    for (size_t i = 0; i < x.size(); ++i) y[i] = apply(x[i]);
  }
};

}  // namespace

extern const OpDef op_swish;
constinit const OpDef op_swish = define<Swish>({
    .name = "Swish",
    .since = {24},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
