// Relu: y = max(x, 0). NaN stays NaN.
#include "kernels/elementwise/unary.h"
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
  void fast(RunContext& c, std::type_identity<float>) const {
    kernels::activate({kernels::Activation::Kind::relu}, c.input<float>(0), c.output<float>(), c.parallel());
  }
  template <OneOf<double, int32_t, int64_t> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    map_elements<T>(c, [](T x) { return x < 0 ? T(0) : x; });
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
