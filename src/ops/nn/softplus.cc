// Softplus: y = log(1 + exp(x)), without overflow.
#include <algorithm>

#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct Softplus : ActivationOp<Softplus> {
  template <typename T>
  T apply(T x) const {
    return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    kernels::unary({kernels::Unary::Kind::softplus, 1}, x, y, par);
  }
};

}  // namespace

extern const OpDef op_softplus;
constinit const OpDef op_softplus = define<Softplus>({
    .name = "Softplus",
    .since = {1, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
