// Bernoulli: 1 with the probability that the input gives, else 0.
#include "kernels/elementwise/cast.h"
#include "ops/nn/common/load.h"
#include "ops/random/common/random.h"

namespace retort::ops {
namespace {

struct Bernoulli : RandomOp<float> {
  std::optional<DType> dtype;
  static constexpr std::tuple attributes{attr("dtype", &Bernoulli::dtype), attr("seed", &Bernoulli::seed)};

  void infer(InferContext& c) const {
    const DType type = dtype.value_or(c.dtype(0));
    require(contains(kNumeric | kBool, type), ErrorCode::invalid_argument, "dtype is {}, a number is wanted",
            dtype_name(type));
    c.set(0, type);
    c.set(0, type, c.shape(0));
  }
  void run(RunContext& c) const {
    const RandomNumbers n = numbers(c);
    const std::vector<double> p = load_floats(c, 0);
    std::vector<float> y(p.size());
    for (size_t i = 0; i < y.size(); ++i) y[i] = n.uniform(i) < p[i] ? 1.0f : 0.0f;
    kernels::cast(y.data(), DType::f32, c.out_data(), c.out_dtype(), y.size(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_bernoulli;
constinit const OpDef op_bernoulli = define<Bernoulli>({
    .name = "Bernoulli",
    .since = {15, 22},
    .inputs = {"input: T1"},
    .outputs = {"output: T2"},
    .traits = kRandom,
});

}  // namespace retort::ops
