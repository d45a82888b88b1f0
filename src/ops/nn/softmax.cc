// Softmax: exp(x - max) / sum of exp(x - max) along an axis.
#include "ops/nn/common/softmax.h"

namespace retort::ops {

extern const OpDef op_softmax;
constinit const OpDef op_softmax = define<SoftmaxAlongAxis<false>>({
    .name = "Softmax",
    .since = {1, 11, 13},
    .inputs = {"input: T"},
    .outputs = {"output: T"},
    .types = kFloats,
    .traits = kMayAliasInput0 | kAlongAxis,
});

}  // namespace retort::ops
