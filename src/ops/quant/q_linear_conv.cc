// QLinearConv: the convolution of quantised tensors, with a quantised result: the result of ConvInteger plus a bias,
// times both scales divided by that of y, rounded half to even. The weights have one scale and zero point, or one per
// output channel.
#include "ops/quant/common/codes_conv.h"

namespace retort::ops {
namespace {

struct QLinearConv : CodesConv {
  enum Input : size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };
  static constexpr Inputs inputs{.x = kX, .w = kW, .x_zero = kXZero, .w_zero = kWZero};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kYZero));
    require(c.dtype(kYZero) == DType::i8 || c.dtype(kYZero) == DType::u8, ErrorCode::invalid_argument,
            "y_zero_point is {}, expected int8 or uint8", dtype_name(c.dtype(kYZero)));
    require(!c.has(kBias) || c.dtype(kBias) == DType::i32, ErrorCode::invalid_argument,
            "the bias is {}, expected int32", dtype_name(c.has(kBias) ? c.dtype(kBias) : DType::undefined));
    c.set(0, c.dtype(kYZero), convolved_shape(c, *this, group, kW));
  }
  Cost cost(const CostContext& c) const { return convolution_cost(c, kW, c.has(kBias)); }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return prepare_filters(c, inputs); }
  size_t scratch(const RunContext& c) const { return scratch_bytes(c, inputs); }

  void run(RunContext& c) const {
    if (c.out_count() == 0) return;
    const size_t channels = size_t(c.shape(kW)[0]);
    const ScaleFactors x(c, kXScale, 1, "x_scale"), w(c, kWScale, channels, "w_scale"), y(c, kYScale, 1, "y_scale");
    require(!c.has(kBias) || c.count(kBias) == channels, ErrorCode::invalid_argument,
            "there are {} biases for {} outputs", c.count(kBias), channels);
    const int32_t* bias = c.optional<int32_t>(kBias);
    convolve(c, inputs, codes_result(c, kYZero), [&](kernels::CodeRow& row, size_t channel) {
      row.bias = bias ? bias[channel] : 0;
      row.scale = x[0] * w[channel] / y[0];
    });
  }
};

}  // namespace

extern const OpDef op_q_linear_conv;
constinit const OpDef op_q_linear_conv = define<QLinearConv>({
    .name = "QLinearConv",
    .since = {10},
    .inputs = {"x: T", "x_scale: float", "x_zero_point: T", "w: U", "w_scale: float", "w_zero_point: U",
               "y_scale: float", "y_zero_point: V", "B: int32?"},
    .outputs = {"y: V"},
    .types = types({DType::i8, DType::u8}),
});

}  // namespace retort::ops
