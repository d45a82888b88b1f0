// com.microsoft.SkipSimplifiedLayerNormalization: RMS normalisation of input + skip + bias over the last axis.
// The sum itself is output 3 on request.
#include "kernels/norm/row_norm.h"
#include "ops/nn/common/load.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {
namespace {

struct SkipSimplifiedLayerNormalization {
  float epsilon = 1e-12f;
  static constexpr std::tuple attributes{attr("epsilon", &SkipSimplifiedLayerNormalization::epsilon)};

  void infer(InferContext& c) const {
    for (size_t i : {0u, 3u}) c.set(i, c.dtype(0));
    for (size_t i : {1u, 2u}) c.set(i, DType::f32);
    const Shape& x = c.shape(0);
    require(x.rank() == 2 || x.rank() == 3, ErrorCode::invalid_argument, "input of rank {}", x.rank());
    for (size_t i : {0u, 3u}) c.set(i, c.dtype(0), x);
    for (size_t i : {1u, 2u}) c.set(i, DType::f32, statistics_shape(x, x.rank() - 1));
    check_parameter(c, 1);
    for (size_t i = 2; i < 4; ++i) check_row_parameter(c, i);
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(0);
    const Rows rows = rows_of(shape, -1);
    const auto x = c.input<T>(0), skip = c.input<T>(1), scale = c.input<T>(2);
    const T* bias = c.optional<T>(3);
    const auto y = c.output<T>();
    std::vector<T> sum(rows.size);
    std::vector<double> means(rows.count), inverses(rows.count);
    for (size_t r = 0; r < rows.count; ++r) {
      for (size_t i = 0; i < rows.size; ++i) {
        const size_t at = r * rows.size + i;
        sum[i] = x[at] + skip[broadcast_index(shape, c.shape(1), at)] + (bias ? bias[i] : T(0));
        if (c.wants(3)) c.output<T>(3)[at] = sum[i];
      }
      inverses[r] = inverse_rms(std::span<const T>(sum), epsilon);
      for (size_t i = 0; i < rows.size; ++i) y[r * rows.size + i] = T(double(sum[i]) * inverses[r] * double(scale[i]));
    }
    store_floats(c, 1, means);
    store_floats(c, 2, inverses);
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    const Rows rows = rows_of(c.shape(0), -1);
    const auto output = [&](size_t i) { return c.wants(i) ? c.output<float>(i).data() : nullptr; };
    if (!repeats_rows(c.shape(1), c.shape(0))) return reference<float>(c);
    kernels::row_norm({.rows = rows.count,
                       .width = rows.size,
                       .x = c.input<float>(0).data(),
                       .skip = c.input<float>(1).data(),
                       .skip_rows = rows.size ? c.count(1) / rows.size : 0,
                       .bias = c.optional<float>(3),
                       .gamma = c.input<float>(2).data(),
                       .epsilon = epsilon,
                       .simplified = true,
                       .y = output(0),
                       .sum = output(3),
                       .mean = output(1),
                       .inv_std = output(2)},
                      c.parallel());
  }
};

}  // namespace

extern const OpDef op_skip_simplified_layer_normalization;
constinit const OpDef op_skip_simplified_layer_normalization = define<SkipSimplifiedLayerNormalization>({
    .name = "SkipSimplifiedLayerNormalization",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T", "skip: T", "gamma: T", "bias: T?"},
    .outputs = {"output: T", "mean: U?", "inv_std_var: U?", "input_skip_bias_sum: T?"},
    .types = kFloats,
});

}  // namespace retort::ops
