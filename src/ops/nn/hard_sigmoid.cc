// HardSigmoid: y = max(0, min(1, alpha * x + beta)).
#include <algorithm>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct HardSigmoid : UnaryElementwise {
  float alpha = 0.2f;
  float beta = 0.5f;
  static constexpr std::tuple attributes{attr("alpha", &HardSigmoid::alpha), attr("beta", &HardSigmoid::beta)};
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = std::max(T(0), std::min(T(1), T(alpha) * x[i] + T(beta)));
  }
};

}  // namespace

extern const OpDef op_hard_sigmoid;
constinit const OpDef op_hard_sigmoid = define<HardSigmoid>({
    .name = "HardSigmoid",
    .since = {1, 6, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
