// Softmax along an axis, exp(x - max) / sum of exp(x - max), and its logarithm: two operators.
#pragma once
#include <algorithm>
#include <cmath>

#include "kernels/norm/softmax.h"
#include "ops/nn/common/axis.h"

namespace retort::ops {

template <bool kLog>
struct SoftmaxAlongAxis {
  int64_t axis = -1;
  static constexpr std::tuple attributes{attr("axis", &SoftmaxAlongAxis::axis)};

  void infer(InferContext& c) const { infer_along(c, axis); }
  // Maximum, subtraction, exponential, sum and division, or a second subtraction, for each element.
  Cost cost(const CostContext& c) const { return {.operations = 5 * c.count(0)}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const AxisView v = along(c.shape(0), axis);
    for_each_line<T>(c, v, [&](const T* x, T* y, size_t stride) {
      T top = x[0];
      for (size_t i = 1; i < v.extent; ++i) top = std::max(top, x[i * stride]);
      double sum = 0;
      if constexpr (kLog) {
        for (size_t i = 0; i < v.extent; ++i) sum += std::exp(x[i * stride] - top);
        const double log_sum = std::log(sum);
        for (size_t i = 0; i < v.extent; ++i) y[i * stride] = T(x[i * stride] - top - log_sum);
      } else {
        for (size_t i = 0; i < v.extent; ++i) sum += y[i * stride] = std::exp(x[i * stride] - top);
        for (size_t i = 0; i < v.extent; ++i) y[i * stride] = T(y[i * stride] / sum);
      }
    });
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const AxisView v = along(c.shape(0), axis);
    kernels::softmax({.outer = v.outer,
                      .extent = v.extent,
                      .inner = v.inner,
                      .x = c.input<float>(0).data(),
                      .y = c.output<float>().data(),
                      .log = kLog},
                     c.parallel());
  }
};

}  // namespace retort::ops
