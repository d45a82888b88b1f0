// Softsign: y = x / (1 + |x|).
#include <cmath>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Softsign : UnaryElementwise {
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] / (T(1) + std::abs(x[i]));
  }
};

}  // namespace

extern const OpDef op_softsign;
constinit const OpDef op_softsign = define<Softsign>({
    .name = "Softsign",
    .since = {1, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
