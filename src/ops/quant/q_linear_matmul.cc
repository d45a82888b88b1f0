// QLinearMatMul: the product of two quantised matrices, with a quantised result: the result of MatMulInteger, times
// both scales divided by that of y, rounded half to even.
#include "ops/quant/common/codes_matmul.h"

namespace retort::ops {
namespace {

struct QLinearMatMul {
  enum Input : size_t { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };
  static constexpr CodesMatMul product{.a = kA, .b = kB, .a_zero = kAZero, .b_zero = kBZero};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kYZero));
    require(c.dtype(kYZero) == DType::i8 || c.dtype(kYZero) == DType::u8, ErrorCode::invalid_argument,
            "y_zero_point is {}, expected int8 or uint8", dtype_name(c.dtype(kYZero)));
    c.set(0, c.dtype(kYZero), product.infer(c));
  }
  Cost cost(const CostContext& c) const { return product_cost(c, c.extent(kA, -1)); }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return product.prepare(c); }
  size_t scratch(const RunContext& c) const { return product.scratch(c); }

  void run(RunContext& c) const {
    const ScaleFactors y(c, kYScale, 1, "y_scale");
    const CodesMatMul::Scales scales = product.scales(c, kAScale, kBScale, y[0]);
    product.run(c, codes_result(c, kYZero), &scales);
  }
};

}  // namespace

extern const OpDef op_q_linear_matmul;
constinit const OpDef op_q_linear_matmul = define<QLinearMatMul>({
    .name = "QLinearMatMul",
    .since = {10, 21},
    .inputs = {"a: T", "a_scale: S", "a_zero_point: T", "b: U", "b_scale: S", "b_zero_point: U", "y_scale: S",
               "y_zero_point: V"},
    .outputs = {"y: V"},
    .types = types({DType::i8, DType::u8}),
});

}  // namespace retort::ops
