// RMSNormalization: x / sqrt(mean of x² + epsilon) · scale over the axes from `axis` on. The result has scale's type.
#include "kernels/norm/row_norm.h"
#include "ops/nn/common/load.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {
namespace {

struct RmsNormalization {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  int64_t stash_type = 1;
  static constexpr std::tuple attributes{attr("axis", &RmsNormalization::axis),
                                         attr("epsilon", &RmsNormalization::epsilon),
                                         attr("stash_type", &RmsNormalization::stash_type)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(1));
    c.axis(axis, c.rank(0));
    c.set(0, c.dtype(1), c.shape(0));
    check_parameter(c, 1);
  }
  Cost cost(const CostContext& c) const { return normalisation_cost(c); }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(0);
    const Rows rows = rows_of(shape, axis);
    const auto x = c.input<T>(0);
    const auto scale = load_floats(c, 1);
    std::vector<double> y(x.size());
    for (size_t r = 0; r < rows.count; ++r) {
      const double factor = inverse_rms(x.subspan(r * rows.size, rows.size), epsilon);
      for (size_t i = r * rows.size; i < (r + 1) * rows.size; ++i)
        y[i] = double(x[i]) * factor * scale[broadcast_index(shape, c.shape(1), i)];
    }
    store_floats(c, 0, y);
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    const Rows rows = rows_of(c.shape(0), axis);
    if (c.dtype(1) != DType::f32 || !is_one_row(c.shape(1), c.shape(0), axis)) return reference<float>(c);
    kernels::row_norm({.rows = rows.count,
                       .width = rows.size,
                       .x = c.input<float>(0).data(),
                       .gamma = c.input<float>(1).data(),
                       .epsilon = epsilon,
                       .simplified = true,
                       .y = c.output<float>().data()},
                      c.parallel());
  }
};

}  // namespace

extern const OpDef op_rms_normalization;
constinit const OpDef op_rms_normalization = define<RmsNormalization>({
    .name = "RMSNormalization",
    .since = {23},
    .inputs = {"X: T", "scale: V"},
    .outputs = {"Y: V"},
    .types = kFloats,
});

}  // namespace retort::ops
