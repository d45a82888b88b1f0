// RandomUniform: numbers evenly distributed in [low, high).
#include "ops/nn/common/load.h"
#include "ops/random/common/random.h"

namespace retort::ops {
namespace {

struct RandomUniform : RandomOp<float> {
  float low = 0, high = 1;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  static constexpr std::tuple attributes{attr("dtype", &RandomUniform::dtype), attr("low", &RandomUniform::low),
                                         attr("high", &RandomUniform::high), attr("seed", &RandomUniform::seed),
                                         required("shape", &RandomUniform::shape)};

  void infer(InferContext& c) const {
    element_count(shape);
    c.set(0, random_type(c, dtype), Shape(shape));
  }
  void run(RunContext& c) const {
    const RandomNumbers n = numbers(c);
    std::vector<double> y(c.out_count());
    for (size_t i = 0; i < y.size(); ++i) y[i] = low + (high - low) * n.uniform(i);
    store_floats(c, 0, y);
  }
};

}  // namespace

extern const OpDef op_random_uniform;
constinit const OpDef op_random_uniform = define<RandomUniform>({
    .name = "RandomUniform",
    .since = {1, 22},
    .outputs = {"output: V"},
    .traits = kRandom,
});

}  // namespace retort::ops
