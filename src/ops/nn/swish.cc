// Swish: y = x * sigmoid(alpha * x).
#include <cmath>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Swish : UnaryElementwise {
  float alpha = 1.0f;
  static constexpr std::tuple attributes{attr("alpha", &Swish::alpha)};
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] / (T(1) + std::exp(-T(alpha) * x[i]));
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
