// Selu: y = gamma * x above zero, gamma * alpha * (exp(x) - 1) below.
#include <cmath>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Selu : UnaryElementwise {
  float alpha = 1.67326319217681884765625f;
  float gamma = 1.05070102214813232421875f;
  static constexpr std::tuple attributes{attr("alpha", &Selu::alpha), attr("gamma", &Selu::gamma)};
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = T(gamma) * (x[i] > T(0) ? x[i] : T(alpha) * std::expm1(x[i]));
  }
};

}  // namespace

extern const OpDef op_selu;
constinit const OpDef op_selu = define<Selu>({
    .name = "Selu",
    .since = {1, 6, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
