// com.microsoft.SkipSimplifiedLayerNormalization: RMS normalisation of input + skip + bias.
#include "ops/nn/common/skip_normalization.h"

namespace retort::ops {

extern const OpDef op_skip_simplified_layer_normalization;
constinit const OpDef op_skip_simplified_layer_normalization = define<SkipNormalization<false>>({
    .name = "SkipSimplifiedLayerNormalization",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T", "skip: T", "gamma: T", "bias: T?"},
    .outputs = {"output: T", "mean: float?", "inv_std_var: float?", "input_skip_bias_sum: T?"},
    .types = kFloats,
});

}  // namespace retort::ops
