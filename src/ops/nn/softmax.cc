// Softmax: exp(x - max) / sum of exp(x - max) along an axis.
#include <cmath>

#include "kernels/norm/softmax.h"
#include "ops/nn/common/axis.h"

namespace retort::ops {
namespace {

struct Softmax {
  int64_t axis = -1;
  static constexpr std::tuple attributes{attr("axis", &Softmax::axis)};

  void infer(InferContext& c) const { infer_along(c, axis); }
  // Maximum, subtraction, exponential, sum and division for each element.
  Cost cost(const CostContext& c) const { return {.operations = 5 * c.count(0)}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const AxisView v = along(c.shape(0), axis);
    if (v.extent == 0) return;
    for_each_line<T>(c, v, [&](const T* x, T* y, size_t stride) {
      T top = x[0];
      for (size_t i = 1; i < v.extent; ++i) top = std::max(top, x[i * stride]);
      double sum = 0;
      for (size_t i = 0; i < v.extent; ++i) sum += y[i * stride] = std::exp(x[i * stride] - top);
      for (size_t i = 0; i < v.extent; ++i) y[i * stride] = T(y[i * stride] / sum);
    });
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const AxisView v = along(c.shape(0), axis);
    kernels::softmax({.outer = v.outer,
                      .extent = v.extent,
                      .inner = v.inner,
                      .x = c.input<float>(0).data(),
                      .y = c.output<float>().data(),
                      .log = false},
                     c.parallel());
  }
};

}  // namespace

extern const OpDef op_softmax;
constinit const OpDef op_softmax = define<Softmax>({
    .name = "Softmax",
    .since = {1, 11, 13},
    .inputs = {"input: T"},
    .outputs = {"output: T"},
    .types = kFloats,
    .traits = kMayAliasInput0 | kAlongAxis,
});

}  // namespace retort::ops
