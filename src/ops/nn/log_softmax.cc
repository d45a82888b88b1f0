// LogSoftmax: x - max - log(sum of exp(x - max)) along an axis.
#include "ops/nn/common/softmax.h"

namespace retort::ops {

extern const OpDef op_log_softmax;
constinit const OpDef op_log_softmax = define<SoftmaxAlongAxis<true>>({
    .name = "LogSoftmax",
    .since = {1, 11, 13},
    .inputs = {"input: T"},
    .outputs = {"output: T"},
    .types = kFloats,
    .traits = kMayAliasInput0 | kAlongAxis,
});

}  // namespace retort::ops
