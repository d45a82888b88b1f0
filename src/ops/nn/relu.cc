// Relu: y = max(x, 0). NaN stays NaN.
#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Relu : UnaryElementwise {
  template <typename T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] < T(0) ? T(0) : x[i];
  }
};

}  // namespace

extern const OpDef op_relu;
constinit const OpDef op_relu = define<Relu>({
    .name = "Relu",
    .since = {1, 6, 13, 14},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats | kSigned,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
