// Tanh: y = tanh(x).
#include <cmath>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Tanh : UnaryElementwise {
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = std::tanh(x[i]);
  }
};

}  // namespace

extern const OpDef op_tanh;
constinit const OpDef op_tanh = define<Tanh>({
    .name = "Tanh",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
