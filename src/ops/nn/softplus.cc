// Softplus: y = log(1 + exp(x)), without overflow.
#include <cmath>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Softplus : UnaryElementwise {
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = std::max(x[i], T(0)) + std::log1p(std::exp(-std::abs(x[i])));
  }
};

}  // namespace

extern const OpDef op_softplus;
constinit const OpDef op_softplus = define<Softplus>({
    .name = "Softplus",
    .since = {1, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
