// LeakyRelu: y = x for x >= 0, alpha * x below zero. NaN stays NaN.
#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct LeakyRelu : UnaryElementwise {
  float alpha = 0.01f;
  static constexpr std::tuple attributes{attr("alpha", &LeakyRelu::alpha)};
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] < T(0) ? T(alpha) * x[i] : x[i];
  }
};

}  // namespace

extern const OpDef op_leaky_relu;
constinit const OpDef op_leaky_relu = define<LeakyRelu>({
    .name = "LeakyRelu",
    .since = {1, 6, 16},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
