// Sigmoid: y = 1 / (1 + exp(-x)).
#include <cmath>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Sigmoid : UnaryElementwise {
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = T(1) / (T(1) + std::exp(-x[i]));
  }
};

}  // namespace

extern const OpDef op_sigmoid;
constinit const OpDef op_sigmoid = define<Sigmoid>({
    .name = "Sigmoid",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
