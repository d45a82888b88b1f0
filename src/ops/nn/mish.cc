// Mish: y = x * tanh(log(1 + exp(x))).
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct Mish : ActivationOp<Mish> {
  template <typename T>
  T apply(T x) const {
    return x * std::tanh(x > T(30) ? x : std::log1p(std::exp(x)));
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    kernels::unary({kernels::Unary::Kind::mish, 1}, x, y, par);
  }
};

}  // namespace

extern const OpDef op_mish;
constinit const OpDef op_mish = define<Mish>({
    .name = "Mish",
    .since = {18, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
