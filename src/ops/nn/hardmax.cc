// Hardmax: 1 at the first largest element along an axis, 0 elsewhere.
#include <algorithm>

#include "kernels/reduce/reduce.h"
#include "ops/elementwise.h"
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

  // Finds all positions before it writes: the output may have the memory of the input.
  size_t scratch(const RunContext& c) const {
    const AxisView v = along(c.shape(0), axis);
    return c.dtype(0) == DType::f32 && c.count(0) > 0 ? v.outer * v.inner * sizeof(int64_t) : 0;
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    if (c.count(0) == 0) return;
    const AxisView v = along(c.shape(0), axis);
    auto* const at = static_cast<int64_t*>(c.scratch());
    const kernels::ArgReduce largest{.outer = v.outer, .extent = v.extent, .inner = v.inner};
    kernels::arg_reduce(largest, c.input<float>(0).data(), at, c.parallel());
    float* const y = c.output<float>().data();
    for_output_chunks(c, [&](size_t begin, size_t end) { std::fill(y + begin, y + end, 0.0f); });
    for (size_t i = 0; i < v.outer * v.inner; ++i)
      y[(i / v.inner * v.extent + size_t(at[i])) * v.inner + i % v.inner] = 1;
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
    .traits = kMayAliasInput0 | kAlongAxis,
});

}  // namespace retort::ops
