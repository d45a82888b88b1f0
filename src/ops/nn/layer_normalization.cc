// LayerNormalization: (x - mean) / sqrt(variance + epsilon) · scale + bias over the axes from `axis` on.
#include "kernels/norm/row_norm.h"
#include "ops/nn/common/load.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {
namespace {

struct LayerNormalization {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  int64_t stash_type = 1;
  static constexpr std::tuple attributes{attr("axis", &LayerNormalization::axis),
                                         attr("epsilon", &LayerNormalization::epsilon),
                                         attr("stash_type", &LayerNormalization::stash_type)};

  void infer(InferContext& c) const {
    const DType stash = stash_type == int64_t(DType::bf16) ? DType::bf16 : DType::f32;
    c.set(0, c.dtype(0));
    for (size_t i : {1u, 2u}) c.set(i, stash);
    const Shape& x = c.shape(0);
    const Shape statistics = statistics_shape(x, c.axis(axis, x.rank()));
    c.set(0, c.dtype(0), x);
    for (size_t i : {1u, 2u}) c.set(i, stash, statistics);
    for (size_t i : {1u, 2u}) check_parameter(c, i);
  }
  Cost cost(const CostContext& c) const { return normalisation_cost(c); }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(0);
    const Rows rows = rows_of(shape, axis);
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    const T *scale = c.input<T>(1).data(), *bias = c.optional<T>(2);
    std::vector<double> means(rows.count), inverses(rows.count);
    for (size_t r = 0; r < rows.count; ++r) {
      const Moments m = moments(x.subspan(r * rows.size, rows.size), epsilon);
      means[r] = m.mean;
      inverses[r] = m.inverse_deviation;
      for (size_t i = r * rows.size; i < (r + 1) * rows.size; ++i) {
        const double unit = (double(x[i]) - m.mean) * m.inverse_deviation;
        const double shift = bias ? double(bias[broadcast_index(shape, c.shape(2), i)]) : 0;
        y[i] = T(unit * double(scale[broadcast_index(shape, c.shape(1), i)]) + shift);
      }
    }
    store_floats(c, 1, means);
    store_floats(c, 2, inverses);
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    const Rows rows = rows_of(c.shape(0), axis);
    const auto is_vector = [&](size_t i) { return is_one_row(c.shape(i), c.shape(0), axis); };
    const bool vectors = is_vector(1) && (!c.has(2) || is_vector(2));
    const bool stashes_float = !(c.wants(1) || c.wants(2)) || stash_type == int64_t(DType::f32);
    if (!vectors || !stashes_float) return reference<float>(c);
    kernels::row_norm({.rows = rows.count,
                       .width = rows.size,
                       .x = c.input<float>(0).data(),
                       .gamma = c.input<float>(1).data(),
                       .beta = c.optional<float>(2),
                       .epsilon = epsilon,
                       .y = c.output<float>().data(),
                       .mean = c.wants(1) ? c.output<float>(1).data() : nullptr,
                       .inv_std = c.wants(2) ? c.output<float>(2).data() : nullptr},
                      c.parallel());
  }
};

}  // namespace

extern const OpDef op_layer_normalization;
constinit const OpDef op_layer_normalization = define<LayerNormalization>({
    .name = "LayerNormalization",
    .since = {17},
    .inputs = {"X: T", "Scale: T", "B: T?"},
    .outputs = {"Y: T", "Mean: U?", "InvStdDev: U?"},
    .types = kFloats,
});

}  // namespace retort::ops
