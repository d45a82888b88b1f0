// RandomUniformLike: evenly distributed numbers in the shape of the input.
#include "ops/nn/common/load.h"
#include "ops/random/common/random.h"

namespace retort::ops {
namespace {

struct RandomUniformLike : RandomOp<float> {
  float low = 0, high = 1;
  std::optional<DType> dtype;
  static constexpr std::tuple attributes{attr("dtype", &RandomUniformLike::dtype), attr("low", &RandomUniformLike::low),
                                         attr("high", &RandomUniformLike::high),
                                         attr("seed", &RandomUniformLike::seed)};

  void infer(InferContext& c) const {
    const DType type = random_type(c, dtype);
    c.set(0, type);
    c.set(0, type, c.shape(0));
  }
  void run(RunContext& c) const {
    const RandomNumbers n = numbers(c);
    std::vector<double> y(c.out_count());
    for (size_t i = 0; i < y.size(); ++i) y[i] = low + (high - low) * n.uniform(i);
    store_floats(c, 0, y);
  }
};

}  // namespace

extern const OpDef op_random_uniform_like;
constinit const OpDef op_random_uniform_like = define<RandomUniformLike>({
    .name = "RandomUniformLike",
    .since = {1, 22},
    .inputs = {"input: T1"},
    .outputs = {"output: V"},
    .traits = kRandom,
});

}  // namespace retort::ops
