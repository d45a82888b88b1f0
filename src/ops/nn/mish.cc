// Mish: y = x * tanh(log(1 + exp(x))).
#include <cmath>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Mish : UnaryElementwise {
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * std::tanh(x[i] > T(30) ? x[i] : std::log1p(std::exp(x[i])));
  }
};

}  // namespace

extern const OpDef op_mish;
constinit const OpDef op_mish = define<Mish>({
    .name = "Mish",
    .since = {18, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
