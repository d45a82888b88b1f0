// Shrink: y = x + bias below -lambd, x - bias above lambd, 0 between.
#include "kernels/elementwise/convert.h"
#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Shrink : UnaryElementwise {
  float bias = 0, lambd = 0.5f;
  static constexpr std::tuple attributes{attr("bias", &Shrink::bias), attr("lambd", &Shrink::lambd)};

  template <typename T>
  void reference(RunContext& c) const {
    using Real = std::conditional_t<std::is_floating_point_v<T>, T, double>;
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) {
      const Real v = Real(x[i]);
      y[i] = kernels::convert<T>(v < -Real(lambd) ? v + Real(bias) : v > Real(lambd) ? v - Real(bias) : Real(0));
    }
  }
};

}  // namespace

extern const OpDef op_shrink;
constinit const OpDef op_shrink = define<Shrink>({
    .name = "Shrink",
    .since = {9},
    .inputs = {"input: T"},
    .outputs = {"output: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
