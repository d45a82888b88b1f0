// Layer or RMS normalisation of input + skip + bias over the last axis: two operators of com.microsoft. The sum itself
// is the optional output 3.
#pragma once
#include "kernels/norm/row_norm.h"
#include "ops/nn/common/load.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {

/// With `kLayer` the mean is subtracted and the input beta comes before the bias; without it, this is RMS
/// normalisation.
template <bool kLayer>
struct SkipNormalization {
  float epsilon = 1e-12f;
  static constexpr std::tuple attributes{attr("epsilon", &SkipNormalization::epsilon)};
  enum Input : size_t { kX, kSkip, kGamma, kBeta, kBias = kLayer ? 4 : 3 };

  void infer(InferContext& c) const {
    for (size_t i : {0u, 3u}) c.set(i, c.dtype(kX));
    for (size_t i : {1u, 2u}) c.set(i, DType::f32);
    const Shape& x = c.shape(kX);
    require(x.rank() == 2 || x.rank() == 3, ErrorCode::invalid_argument, "the input has {} axes, expected 2 or 3",
            x.rank());
    for (size_t i : {0u, 3u}) c.set(i, c.dtype(kX), x);
    for (size_t i : {1u, 2u}) c.set(i, DType::f32, statistics_shape(x, x.rank() - 1));
    check_parameter(c, kSkip);
    if (c.ranked(kSkip)) {
      const Shape& skip = c.shape(kSkip);
      if (!(skip.rank() >= 2 && may_equal(skip.back(), x.back()) && may_equal(skip[skip.rank() - 2], x[x.rank() - 2])))
        fail(ErrorCode::invalid_argument, "skip has shape {}, but the input has {}; their last two axes must be equal",
             c.dims().text(skip), c.dims().text(x));
    }
    for (size_t i = kGamma; i <= kBias; ++i) check_row_parameter(c, i);
  }
  Cost cost(const CostContext& c) const { return normalisation_cost(c); }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(kX);
    const Rows rows = rows_of(shape, -1);
    const auto x = c.input<T>(kX), skip = c.input<T>(kSkip), scale = c.input<T>(kGamma);
    const T *bias = c.optional<T>(kBias), *beta = kLayer ? c.optional<T>(kBeta) : nullptr;
    const auto y = c.output<T>();
    std::vector<T> sum(rows.size);
    std::vector<double> means(rows.count), inverses(rows.count);
    for (size_t r = 0; r < rows.count; ++r) {
      for (size_t i = 0; i < rows.size; ++i) {
        const size_t at = r * rows.size + i;
        sum[i] = x[at] + skip[broadcast_index(shape, c.shape(kSkip), at)] + (bias ? bias[i] : T(0));
        if (c.wants(3)) c.output<T>(3)[at] = sum[i];
      }
      const std::span<const T> row(sum);
      const Moments m = kLayer ? moments(row, epsilon) : Moments{0, inverse_rms(row, epsilon)};
      means[r] = m.mean;
      inverses[r] = m.inverse_deviation;
      for (size_t i = 0; i < rows.size; ++i) {
        const double unit = (double(sum[i]) - m.mean) * m.inverse_deviation;
        y[r * rows.size + i] = T(unit * double(scale[i]) + (beta ? double(beta[i]) : 0));
      }
    }
    store_floats(c, 1, means);
    store_floats(c, 2, inverses);
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    const Rows rows = rows_of(c.shape(kX), -1);
    const auto output = [&](size_t i) { return c.wants(i) ? c.output<float>(i).data() : nullptr; };
    if (!repeats_rows(c.shape(kSkip), c.shape(kX))) return reference<float>(c);
    kernels::row_norm({.rows = rows.count,
                       .width = rows.size,
                       .x = c.input<float>(kX).data(),
                       .skip = c.input<float>(kSkip).data(),
                       .skip_rows = rows.size ? c.count(kSkip) / rows.size : 0,
                       .bias = c.optional<float>(kBias),
                       .gamma = c.input<float>(kGamma).data(),
                       .beta = kLayer ? c.optional<float>(kBeta) : nullptr,
                       .epsilon = epsilon,
                       .simplified = !kLayer,
                       .y = output(0),
                       .sum = output(3),
                       .mean = output(1),
                       .inv_std = output(2)},
                      c.parallel());
  }
};

}  // namespace retort::ops
