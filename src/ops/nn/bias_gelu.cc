// com.microsoft.BiasGelu: GELU(x + bias), exactly by erf.
#include "ops/nn/common/biased_gelu.h"

namespace retort::ops {

extern const OpDef op_bias_gelu;
constinit const OpDef op_bias_gelu = define<BiasedGelu<false>>({
    .name = "BiasGelu",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"A: T", "B: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kMayAliasInput0,
});

}  // namespace retort::ops
