// com.microsoft.FastGelu: GELU(x + bias), approximated by tanh; the bias is optional.
#include "ops/nn/common/biased_gelu.h"

namespace retort::ops {

extern const OpDef op_fast_gelu;
constinit const OpDef op_fast_gelu = define<BiasedGelu<true>>({
    .name = "FastGelu",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T", "bias: T?"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kMayAliasInput0,
});

}  // namespace retort::ops
