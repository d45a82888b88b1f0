// retort.QLinearConv: QLinearConv whose bias has real numbers; see common/q_linear_conv.h.
#include "ops/quant/common/q_linear_conv.h"

namespace retort::ops {

extern const OpDef op_biased_q_linear_conv;
constinit const OpDef op_biased_q_linear_conv = define<QLinearConvOf<DType::f32>>({
    .name = "QLinearConv",
    .domain = "retort",
    .inputs = {"x: T", "x_scale: float", "x_zero_point: T", "w: U", "w_scale: float", "w_zero_point: U",
               "y_scale: float", "y_zero_point: V", "B: float?"},
    .outputs = {"y: V"},
    .types = types({DType::i8, DType::u8}),
    .traits = kInternal | kConverts,
});

}  // namespace retort::ops
