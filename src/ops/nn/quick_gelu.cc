// com.microsoft.QuickGelu: x * sigmoid(alpha * x).
#include <cmath>

#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct QuickGelu : UnaryElementwise {
  float alpha = 1.702f;
  static constexpr std::tuple attributes{attr("alpha", &QuickGelu::alpha)};

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] / (T(1) + std::exp(-T(alpha) * x[i]));
  }
};

}  // namespace

extern const OpDef op_quick_gelu;
constinit const OpDef op_quick_gelu = define<QuickGelu>({
    .name = "QuickGelu",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
