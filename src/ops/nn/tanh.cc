// Tanh: y = tanh(x).
#include "kernels/elementwise/unary_double.h"
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct Tanh : ActivationOp<Tanh> {
  template <typename T>
  T apply(T x) const {
    return std::tanh(x);
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    activate(kernels::Activation::Kind::tanh, x, y, par);
  }
  void kernel(std::span<const double> x, std::span<double> y, const Parallel& par) const {
    kernels::unary(kernels::UnaryDouble::tanh, x, y, par);
  }
};

}  // namespace

extern const OpDef op_tanh;
constinit const OpDef op_tanh = define<Tanh>({
    .name = "Tanh",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
