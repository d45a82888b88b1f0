// ThresholdedRelu: y = x where x > alpha, else 0.
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct ThresholdedRelu : ActivationOp<ThresholdedRelu> {
  float alpha = 1.0f;
  static constexpr std::tuple attributes{attr("alpha", &ThresholdedRelu::alpha)};
  template <typename T>
  T apply(T x) const {
    return x > T(alpha) ? x : T(0);
  }
};

}  // namespace

extern const OpDef op_thresholded_relu;
constinit const OpDef op_thresholded_relu = define<ThresholdedRelu>({
    .name = "ThresholdedRelu",
    .since = {10, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
