// ThresholdedRelu: y = x where x > alpha, else 0.
#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct ThresholdedRelu : UnaryElementwise {
  float alpha = 1.0f;
  static constexpr std::tuple attributes{attr("alpha", &ThresholdedRelu::alpha)};
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] > T(alpha) ? x[i] : T(0);
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
