// Celu: y = max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
#include <cmath>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Celu : UnaryElementwise {
  float alpha = 1.0f;
  static constexpr std::tuple attributes{attr("alpha", &Celu::alpha)};
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = std::max(T(0), x[i]) + std::min(T(0), T(alpha) * std::expm1(x[i] / T(alpha)));
  }
};

}  // namespace

extern const OpDef op_celu;
constinit const OpDef op_celu = define<Celu>({
    .name = "Celu",
    .since = {12, 28},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
