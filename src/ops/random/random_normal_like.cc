// RandomNormalLike: normally distributed numbers in the shape of the input.
#include "ops/random/common/random.h"

namespace retort::ops {

extern const OpDef op_random_normal_like;
constinit const OpDef op_random_normal_like = define<RandomLike<NormalDistribution>>({
    .name = "RandomNormalLike",
    .since = {1, 22},
    .inputs = {"input: T1"},
    .outputs = {"output: V"},
    .traits = kRandom,
});

}  // namespace retort::ops
