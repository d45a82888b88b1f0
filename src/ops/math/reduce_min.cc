// ReduceMin: smallest element over axes; NaN if there is one. Without elements, the highest value of the type.
#include "ops/math/extreme.h"

namespace retort::ops {

extern const OpDef op_reduce_min;
constinit const OpDef op_reduce_min = define<ReduceExtreme<false>>({
    .name = "ReduceMin",
    .since = {1, 11, 12, 13, 18, 20},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kNumeric | kBool,
    .traits = kReduces,
});

}  // namespace retort::ops
