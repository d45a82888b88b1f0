// HardSwish: y = x * max(0, min(1, x / 6 + 1/2)).
#include <algorithm>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct HardSwish : UnaryElementwise {
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * std::max(T(0), std::min(T(1), x[i] / T(6) + T(0.5)));
  }
};

}  // namespace

extern const OpDef op_hard_swish;
constinit const OpDef op_hard_swish = define<HardSwish>({
    .name = "HardSwish",
    .since = {14, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
