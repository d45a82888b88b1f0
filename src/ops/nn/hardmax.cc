// Hardmax: 1 at the first largest element along an axis, else 0.
#include "ops/nn/common/axis.h"

namespace retort::ops {
namespace {

struct Hardmax {
  int64_t axis = -1;
  static constexpr std::tuple attributes{attr("axis", &Hardmax::axis)};

  void infer(InferContext& c) const { infer_along(c, axis); }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const AxisView v = along(c.shape(0), axis);
    if (v.extent == 0) return;
    for_each_line<T>(c, v, [&](const T* x, T* y, size_t stride) {
      size_t best = 0;
      for (size_t i = 1; i < v.extent; ++i) best = x[i * stride] > x[best * stride] ? i : best;
      for (size_t i = 0; i < v.extent; ++i) y[i * stride] = T(i == best);
    });
  }
};

}  // namespace

extern const OpDef op_hardmax;
constinit const OpDef op_hardmax = define<Hardmax>({
    .name = "Hardmax",
    .since = {1, 11, 13},
    .inputs = {"input: T"},
    .outputs = {"output: T"},
    .types = kFloats,
    .traits = kMayAliasInput0,
});

}  // namespace retort::ops
