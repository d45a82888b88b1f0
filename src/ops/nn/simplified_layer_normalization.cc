// SimplifiedLayerNormalization: RMS normalisation as ONNX Runtime's exporters write it, in the standard domain and with
// the inverse deviation as second output.
#include "kernels/norm/row_norm.h"
#include "ops/nn/common/load.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {
namespace {

struct SimplifiedLayerNormalization {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  int64_t stash_type = 1;
  static constexpr std::tuple attributes{attr("axis", &SimplifiedLayerNormalization::axis),
                                         attr("epsilon", &SimplifiedLayerNormalization::epsilon),
                                         attr("stash_type", &SimplifiedLayerNormalization::stash_type)};

  void infer(InferContext& c) const {
    const DType stash = stash_type == 1 ? DType::f32 : stash_type == 11 ? DType::f64 : DType(stash_type);
    c.set(0, c.dtype(1));
    c.set(1, stash);
    const Shape& x = c.shape(0);
    c.set(1, stash, statistics_shape(x, c.axis(axis, x.rank())));
    c.set(0, c.dtype(1), x);
    check_parameter(c, 1);
  }
  Cost cost(const CostContext& c) const { return normalisation_cost(c); }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(0);
    const Rows rows = rows_of(shape, axis);
    const auto x = c.input<T>(0);
    const auto scale = load_floats(c, 1);
    std::vector<double> y(x.size()), inverses(rows.count);
    for (size_t r = 0; r < rows.count; ++r) {
      inverses[r] = inverse_rms(x.subspan(r * rows.size, rows.size), epsilon);
      for (size_t i = r * rows.size; i < (r + 1) * rows.size; ++i)
        y[i] = double(x[i]) * inverses[r] * scale[broadcast_index(shape, c.shape(1), i)];
    }
    store_floats(c, 0, y);
    store_floats(c, 1, inverses);
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    const Rows rows = rows_of(c.shape(0), axis);
    if (c.dtype(1) != DType::f32 || !is_one_row(c.shape(1), c.shape(0), axis) ||
        (c.wants(1) && c.out_dtype(1) != DType::f32))
      return reference<float>(c);
    kernels::row_norm({.rows = rows.count,
                       .width = rows.size,
                       .x = c.input<float>(0).data(),
                       .gamma = c.input<float>(1).data(),
                       .epsilon = epsilon,
                       .simplified = true,
                       .y = c.output<float>().data(),
                       .inv_std = c.wants(1) ? c.output<float>(1).data() : nullptr},
                      c.parallel());
  }
};

}  // namespace

extern const OpDef op_simplified_layer_normalization;
constinit const OpDef op_simplified_layer_normalization = define<SimplifiedLayerNormalization>({
    .name = "SimplifiedLayerNormalization",
    .since = {1},
    .inputs = {"X: T", "scale: V"},
    .outputs = {"Y: V", "inv_std_var: U?"},
    .types = kFloats,
});

}  // namespace retort::ops
