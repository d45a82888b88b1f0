// com.microsoft.SkipLayerNormalization: layer normalisation of input + skip + bias.
#include "ops/nn/common/skip_normalization.h"

namespace retort::ops {

extern const OpDef op_skip_layer_normalization;
constinit const OpDef op_skip_layer_normalization = define<SkipNormalization<true>>({
    .name = "SkipLayerNormalization",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T", "skip: T", "gamma: T", "beta: T?", "bias: T?"},
    .outputs = {"output: T", "mean: float?", "inv_std_var: float?", "input_skip_bias_sum: T?"},
    .types = kFloats,
});

}  // namespace retort::ops
