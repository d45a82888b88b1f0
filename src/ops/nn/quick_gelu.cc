// com.microsoft.QuickGelu: x * sigmoid(alpha * x).
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct QuickGelu : ActivationOp<QuickGelu> {
  float alpha = 1.702f;
  static constexpr std::tuple attributes{attr("alpha", &QuickGelu::alpha)};

  template <typename T>
  T apply(T x) const {
    return x / (T(1) + std::exp(-T(alpha) * x));
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    if (alpha > 0) return kernels::unary({kernels::Unary::Kind::scaled_silu, alpha}, x, y, par);
    for (size_t i = 0; i < x.size(); ++i) y[i] = apply(x[i]);
  }
};

}  // namespace

extern const OpDef op_quick_gelu;
constinit const OpDef op_quick_gelu = define<QuickGelu>({
    .name = "QuickGelu",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
