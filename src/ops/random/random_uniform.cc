// RandomUniform: numbers uniformly distributed in [low, high).
#include "ops/random/common/random.h"

namespace retort::ops {

extern const OpDef op_random_uniform;
constinit const OpDef op_random_uniform = define<RandomOfShape<UniformDistribution>>({
    .name = "RandomUniform",
    .since = {1, 22},
    .outputs = {"output: V"},
    .traits = kRandom,
});

}  // namespace retort::ops
