// GELU of X + bias, where the bias is a vector over the last axis: two operators of com.microsoft.
#pragma once
#include "ops/nn/common/gelu.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {

template <bool kTanh>
struct BiasedGelu {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), c.shape(0));
    check_row_parameter(c, 1);
  }
  Cost cost(const CostContext& c) const { return {.operations = (c.has(1) ? 2 : 1) * c.out_count()}; }
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    const T* bias = c.optional<T>(1);
    const size_t period = bias ? c.count(1) : 1;
    for (size_t i = 0; i < x.size(); ++i) {
      const T sum = x[i] + (bias ? bias[i % period] : T(0));
      y[i] = kTanh ? gelu_tanh(sum) : gelu_erf(sum);
    }
  }
};

}  // namespace retort::ops
