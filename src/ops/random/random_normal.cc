// RandomNormal: numbers around `mean`, normally distributed with standard deviation `scale`.
#include "ops/random/common/random.h"

namespace retort::ops {

extern const OpDef op_random_normal;
constinit const OpDef op_random_normal = define<RandomOfShape<NormalDistribution>>({
    .name = "RandomNormal",
    .since = {1, 22},
    .outputs = {"output: V"},
    .traits = kRandom,
});

}  // namespace retort::ops
