// Elu: y = x above zero, alpha * (exp(x) - 1) below.
#include <cmath>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Elu : UnaryElementwise {
  float alpha = 1.0f;
  static constexpr std::tuple attributes{attr("alpha", &Elu::alpha)};
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] < T(0) ? T(alpha) * std::expm1(x[i]) : x[i];
  }
};

}  // namespace

extern const OpDef op_elu;
constinit const OpDef op_elu = define<Elu>({
    .name = "Elu",
    .since = {1, 6, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
