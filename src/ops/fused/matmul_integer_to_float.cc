// retort.MatMulIntegerToFloat: the product of codes in floats: the result of MatMulInteger, times both scales, plus a
// bias [N].
#include "ops/quant/common/codes_matmul.h"

namespace retort::ops {
namespace {

struct MatMulIntegerToFloat {
  enum Input : size_t { kA, kB, kAScale, kBScale, kAZero, kBZero, kBias };
  static constexpr CodesMatMul product{.a = kA, .b = kB, .a_zero = kAZero, .b_zero = kBZero};

  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    c.set(0, DType::f32, product.infer(c));
  }
  Cost cost(const CostContext& c) const {
    Cost cost = product_cost(c, c.extent(kA, -1));
    cost.operations = 3 * c.out_count();
    return cost;
  }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return product.prepare(c, true); }
  size_t scratch(const RunContext& c) const { return product.scratch(c); }

  void run(RunContext& c) const {
    require(!c.has(kBias) || (c.shape(kBias).rank() == 1 && c.shape(kBias)[0] == c.out_shape().back()),
            ErrorCode::invalid_argument, "the bias has shape {}, expected [{}]", c.shape(c.has(kBias) ? kBias : kA),
            c.out_shape().back());
    const CodesMatMul::Scales scales = product.scales(c, kAScale, kBScale, 1);
    product.run(c, {.data = c.out_data(), .is_float = true, .column_bias = c.optional<float>(kBias)}, &scales);
  }
};

}  // namespace

extern const OpDef op_matmul_integer_to_float;
constinit const OpDef op_matmul_integer_to_float = define<MatMulIntegerToFloat>({
    .name = "MatMulIntegerToFloat",
    .domain = "retort",
    .inputs = {"A: T", "B: U", "a_scale: float", "b_scale: float", "a_zero_point: T?", "b_zero_point: U?",
               "bias: float?"},
    .outputs = {"Y: float"},
    .types = types({DType::i8, DType::u8}),
    .traits = kInternal | kConverts,
});

}  // namespace retort::ops
