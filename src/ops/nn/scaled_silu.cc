// com.microsoft.ScaledSiLU: z · sigmoid(z) with z = scale · x; z and the sigmoid are rounded.
#include "base/checked.h"
#include "ops/nn/common/load.h"
#include "ops/nn/common/rounded.h"

namespace retort::ops {
namespace {

struct ScaledSiLU {
  float alpha = 1;
  static constexpr std::tuple attributes{attr("alpha", &ScaledSiLU::alpha)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    if (c.has(1)) expect_shape(c, 1, "scale", {});
    c.set(0, c.type(0));
  }
  Cost cost(const CostContext& c) const { return {.operations = 3 * c.count(0)}; }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    constexpr size_t kBlock = 1024;
    const DType type = c.carried_type(0);
    const float scale = c.has(1) ? float(load_floats(c, 1)[0]) : alpha;
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    c.parallel().for_each(ceil_div(x.size(), kBlock), [&](size_t task, int) {
      for (size_t i = task * kBlock; i < std::min(x.size(), (task + 1) * kBlock); ++i) {
        const float z = rounded(type, scale * x[i]);
        y[i] = z * rounded(type, sigmoid(z));
      }
    });
  }
};

}  // namespace

extern const OpDef op_scaled_silu;
constinit const OpDef op_scaled_silu = define<ScaledSiLU>({
    .name = "ScaledSiLU",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T", "scale: M?"},
    .outputs = {"Y: T"},
    .types = kSingleFloats,
    .traits = kConverts,  // it rounds intermediate results
});

}  // namespace retort::ops
