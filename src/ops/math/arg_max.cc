// ArgMax: the index of the largest element along an axis.
#include "ops/math/arg_reduce.h"

namespace retort::ops {

extern const OpDef op_arg_max;
constinit const OpDef op_arg_max = define<ArgReduce<false>>({
    .name = "ArgMax",
    .since = {1, 11, 12, 13},
    .inputs = {"data: T"},
    .outputs = {"reduced: int64"},
    .types = kNumeric,
});

}  // namespace retort::ops
