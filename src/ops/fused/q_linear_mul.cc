// retort.QLinearMul: the codes of a * b; see q_linear_binary.h.
#include "ops/fused/common/q_linear_binary.h"

namespace retort::ops {

extern const OpDef op_q_linear_mul;
constinit const OpDef op_q_linear_mul = define<QLinearBinary<&kernels::multiply_codes>>({
    .name = "QLinearMul",
    .domain = "retort",
    .inputs = {"A: T", "A_scale: float", "A_zero_point: T", "B: U", "B_scale: float", "B_zero_point: U",
               "Y_scale: float", "Y_zero_point: V"},
    .outputs = {"Y: V"},
    .types = types({DType::i8, DType::u8}),
    .traits = kInternal | kConverts | kImagewise,
    .in_place = {{{0, 0}, {0, 3}}},
});

}  // namespace retort::ops
