// LRN: y = x / (bias + alpha/size · sum of x² over the `size` nearest channels)^beta.
#include <cmath>

#include "ops/nn/common/axis.h"

namespace retort::ops {
namespace {

struct Lrn {
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
  int64_t size = 1;
  static constexpr std::tuple attributes{attr("alpha", &Lrn::alpha), attr("beta", &Lrn::beta), attr("bias", &Lrn::bias),
                                         required("size", &Lrn::size)};

  void check() const { require(size > 0, ErrorCode::invalid_argument, "size is {}", size); }
  void infer(InferContext& c) const { infer_along(c, 1); }
  Cost cost(const CostContext& c) const { return {.operations = double(2 * size + 4) * c.count(0)}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const AxisView v = along(c.shape(0), 1);
    const size_t before = size_t((size - 1) / 2), after = size_t(size) - before;
    for_each_line<T>(c, v, [&](const T* x, T* y, size_t stride) {
      for (size_t ch = 0; ch < v.extent; ++ch) {
        double sum = 0;
        for (size_t i = ch - std::min(ch, before); i < std::min(v.extent, ch + after); ++i)
          sum += double(x[i * stride]) * double(x[i * stride]);
        y[ch * stride] = T(x[ch * stride] / std::pow(bias + alpha / double(size) * sum, double(beta)));
      }
    });
  }
};

}  // namespace

extern const OpDef op_lrn;
constinit const OpDef op_lrn = define<Lrn>({
    .name = "LRN",
    .since = {1, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
