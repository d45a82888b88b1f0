// ArgMin: the index of the smallest element along an axis.
#include "ops/math/arg_reduce.h"

namespace retort::ops {

extern const OpDef op_arg_min;
constinit const OpDef op_arg_min = define<ArgReduce<true>>({
    .name = "ArgMin",
    .since = {1, 11, 12, 13},
    .inputs = {"data: T"},
    .outputs = {"reduced: int64"},
    .types = kNumeric,
});

}  // namespace retort::ops
