// RandomUniformLike: uniformly distributed numbers in the shape of the input.
#include "ops/random/common/random.h"

namespace retort::ops {

extern const OpDef op_random_uniform_like;
constinit const OpDef op_random_uniform_like = define<RandomLike<UniformDistribution>>({
    .name = "RandomUniformLike",
    .since = {1, 22},
    .inputs = {"input: T1"},
    .outputs = {"output: V"},
    .traits = kRandom,
});

}  // namespace retort::ops
