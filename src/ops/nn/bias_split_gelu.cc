// com.microsoft.BiasSplitGelu: adds a bias to rows; of each row, gives the left half times the GELU of the right half.
#include "base/error.h"
#include "ops/nn/common/gelu.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct BiasSplitGelu {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));  // known even if the ranks are not
    const Shape &x = c.shape(0), &bias = c.shape(1);
    const bool fits = x.rank() == 3 && bias.rank() == 1 && may_equal(x[2], bias[0]);
    require(fits && (!is_known(x[2]) || x[2] % 2 == 0), ErrorCode::invalid_argument,
            "X is {} and bias {}; X must have three axes, of which the last is even and as long as the bias",
            c.dims().text(x), c.dims().text(bias));
    c.set(0, c.dtype(0), Shape{x[0], x[1], c.dims().div(x[2], 2)});
  }
  Cost cost(const CostContext& c) const { return {.operations = 4 * c.out_count()}; }
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0), bias = c.input<T>(1);
    const auto y = c.output<T>();
    const size_t half = bias.size() / 2;
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t row = i / half * bias.size(), at = i % half;
      y[i] = (x[row + at] + bias[at]) * gelu_erf(x[row + half + at] + bias[half + at]);
    }
  }
};

}  // namespace

extern const OpDef op_bias_split_gelu;
constinit const OpDef op_bias_split_gelu = define<BiasSplitGelu>({
    .name = "BiasSplitGelu",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T", "bias: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f16, DType::f32}),
});

}  // namespace retort::ops
