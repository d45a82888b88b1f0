// RandomNormal: numbers around `mean`, normally distributed with standard deviation `scale`.
#include "ops/nn/common/load.h"
#include "ops/random/common/random.h"

namespace retort::ops {
namespace {

struct RandomNormal : RandomOp<float> {
  float mean = 0, scale = 1;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  static constexpr std::tuple attributes{attr("dtype", &RandomNormal::dtype), attr("mean", &RandomNormal::mean),
                                         attr("scale", &RandomNormal::scale), attr("seed", &RandomNormal::seed),
                                         required("shape", &RandomNormal::shape)};

  void infer(InferContext& c) const {
    element_count(shape);
    c.set(0, random_type(c, dtype), Shape(shape));
  }
  void run(RunContext& c) const {
    const RandomNumbers n = numbers(c);
    std::vector<double> y(c.out_count());
    for (size_t i = 0; i < y.size(); ++i) y[i] = mean + scale * n.normal(i);
    store_floats(c, 0, y);
  }
};

}  // namespace

extern const OpDef op_random_normal;
constinit const OpDef op_random_normal = define<RandomNormal>({
    .name = "RandomNormal",
    .since = {1, 22},
    .outputs = {"output: V"},
    .traits = kRandom,
});

}  // namespace retort::ops
