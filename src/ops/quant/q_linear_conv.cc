// QLinearConv; see common/q_linear_conv.h.
#include "ops/quant/common/q_linear_conv.h"

namespace retort::ops {

extern const OpDef op_q_linear_conv;
constinit const OpDef op_q_linear_conv = define<QLinearConvOf<DType::i32>>({
    .name = "QLinearConv",
    .since = {10},
    .inputs = {"x: T", "x_scale: float", "x_zero_point: T", "w: U", "w_scale: float", "w_zero_point: U",
               "y_scale: float", "y_zero_point: V", "B: int32?"},
    .outputs = {"y: V"},
    .types = types({DType::i8, DType::u8}),
});

}  // namespace retort::ops
