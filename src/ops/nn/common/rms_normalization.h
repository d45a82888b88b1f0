// RMS normalisation, x / sqrt(mean of x² + epsilon) · scale over the axes from `axis` on, in the type of scale; shared
// by two operators. Output 1, which one of them has, is the inverse deviation of each row.
#pragma once
#include "kernels/norm/row_norm.h"
#include "ops/nn/common/load.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {

struct RmsNormalize {
  int64_t axis = -1;
  float epsilon = 1e-5f;
  int64_t stash_type = 1;
  static constexpr std::tuple attributes{attr("axis", &RmsNormalize::axis), attr("epsilon", &RmsNormalize::epsilon),
                                         attr("stash_type", &RmsNormalize::stash_type)};

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

}  // namespace retort::ops
