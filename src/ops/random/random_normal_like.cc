// RandomNormalLike: normally distributed numbers in the shape of the input.
#include "ops/nn/common/load.h"
#include "ops/random/common/random.h"

namespace retort::ops {
namespace {

struct RandomNormalLike : RandomOp<float> {
  float mean = 0, scale = 1;
  std::optional<DType> dtype;
  static constexpr std::tuple attributes{attr("dtype", &RandomNormalLike::dtype), attr("mean", &RandomNormalLike::mean),
                                         attr("scale", &RandomNormalLike::scale),
                                         attr("seed", &RandomNormalLike::seed)};

  void infer(InferContext& c) const {
    const DType type = random_type(c, dtype);
    c.set(0, type);
    c.set(0, type, c.shape(0));
  }
  void run(RunContext& c) const {
    const RandomNumbers n = numbers(c);
    std::vector<double> y(c.out_count());
    for (size_t i = 0; i < y.size(); ++i) y[i] = mean + scale * n.normal(i);
    store_floats(c, 0, y);
  }
};

}  // namespace

extern const OpDef op_random_normal_like;
constinit const OpDef op_random_normal_like = define<RandomNormalLike>({
    .name = "RandomNormalLike",
    .since = {1, 22},
    .inputs = {"input: T1"},
    .outputs = {"output: V"},
    .traits = kRandom,
});

}  // namespace retort::ops
