// com.microsoft.BiasGelu: erf-GELU of A + B, B a vector over the last axis.
#include "ops/nn/common/gelu.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {
namespace {

struct BiasGelu {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), c.shape(0));
    check_row_parameter(c, 1);
  }
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    const T* bias = c.optional<T>(1);
    const size_t period = bias ? c.count(1) : 1;
    for (size_t i = 0; i < x.size(); ++i) y[i] = gelu_erf(x[i] + (bias ? bias[i % period] : T(0)));
  }
};

}  // namespace

extern const OpDef op_bias_gelu;
constinit const OpDef op_bias_gelu = define<BiasGelu>({
    .name = "BiasGelu",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"A: T", "B: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kMayAliasInput0,
});

}  // namespace retort::ops
