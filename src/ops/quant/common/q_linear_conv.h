// QLinearConv: the convolution of quantised tensors, with a quantised result: the result of ConvInteger plus a bias,
// times both scales divided by that of y, rounded half to even. The weights have one scale and zero point, or one per
// output channel. The bias has integers, whose scale is the product of those of x and w, or real numbers.
#pragma once
#include "ops/quant/common/codes_conv.h"

namespace retort::ops {

template <DType kBiasType>
struct QLinearConvOf : CodesConv {
  enum Input : size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };
  static constexpr Inputs inputs{.x = kX, .w = kW, .x_zero = kXZero, .w_zero = kWZero};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kYZero));
    require(c.dtype(kYZero) == DType::i8 || c.dtype(kYZero) == DType::u8, ErrorCode::invalid_argument,
            "y_zero_point is {}, expected int8 or uint8", dtype_name(c.dtype(kYZero)));
    require(!c.has(kBias) || c.dtype(kBias) == kBiasType, ErrorCode::invalid_argument, "the bias is {}, expected {}",
            dtype_name(c.has(kBias) ? c.dtype(kBias) : DType::undefined), dtype_name(kBiasType));
    c.set(0, c.dtype(kYZero), convolved_shape(c, *this, group, kW));
    for (const size_t i : {kXScale, kXZero, kWScale, kWZero, kYScale, kYZero})
      require(!c.has(i) || !c.ranked(i) || c.rank(i) < 2, ErrorCode::invalid_argument,
              "input {}, a scale or zero point, has {} axes, expected 1 or none", i, c.rank(i));
    expect_shape_if_given(c, kBias, "B", {c.shape(kW)[0]});
  }
  Cost cost(const CostContext& c) const { return convolution_cost(c, kW, c.has(kBias)); }
  std::unique_ptr<State> prepare(PrepareContext& c) const {
    return prepare_filters(c, inputs, c.options().saturating_sums);
  }
  size_t scratch(const RunContext& c) const { return scratch_bytes(c, inputs); }

  void run(RunContext& c) const {
    if (c.out_count() == 0) return;
    const size_t channels = size_t(c.shape(kW)[0]);
    const ScaleFactors x(c, kXScale, 1, "x_scale"), w(c, kWScale, channels, "w_scale"), y(c, kYScale, 1, "y_scale");
    require(!c.has(kBias) || c.count(kBias) == channels, ErrorCode::invalid_argument,
            "there are {} biases for {} outputs", c.count(kBias), channels);
    const void* bias = c.has(kBias) ? c.data(kBias) : nullptr;
    convolve(c, inputs, codes_result(c, kYZero), [&](kernels::CodeRow& row, size_t channel) {
      row.scale = x[0] * w[channel] / y[0];
      if (!bias) return;
      if constexpr (kBiasType == DType::i32)
        row.bias = static_cast<const int32_t*>(bias)[channel];
      else
        row.offset = static_cast<const float*>(bias)[channel] / y[0];
    });
  }
};
}  // namespace retort::ops
