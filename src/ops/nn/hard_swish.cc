// HardSwish: y = x * max(0, min(1, x / 6 + 1/2)).
#include <algorithm>

#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct HardSwish : ActivationOp<HardSwish> {
  template <typename T>
  T apply(T x) const {
    return x * std::max(T(0), std::min(T(1), x / T(6) + T(0.5)));
  }
  void kernel(std::span<const float> x, std::span<float> y, const Parallel& par) const {
    activate(kernels::Activation::Kind::hard_swish, x, y, par, 1.0f / 6, 0.5f);
  }
};

}  // namespace

extern const OpDef op_hard_swish;
constinit const OpDef op_hard_swish = define<HardSwish>({
    .name = "HardSwish",
    .since = {14, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
