// Sigmoid: y = 1 / (1 + exp(-x)).
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct Sigmoid : ActivationOp<Sigmoid> {
  template <typename T>
  T apply(T x) const {
    return T(1) / (T(1) + std::exp(-x));
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    activate(kernels::Activation::Kind::sigmoid, x, y, par);
  }
};

}  // namespace

extern const OpDef op_sigmoid;
constinit const OpDef op_sigmoid = define<Sigmoid>({
    .name = "Sigmoid",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
