// ReduceMax: largest element over axes; NaN if there is one. Without elements, the lowest value of the type.
#include "ops/math/extreme.h"

namespace retort::ops {

extern const OpDef op_reduce_max;
constinit const OpDef op_reduce_max = define<ReduceExtreme<true>>({
    .name = "ReduceMax",
    .since = {1, 11, 12, 13, 18, 20},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kNumeric | kBool,
    .traits = kReduces,
});

}  // namespace retort::ops
