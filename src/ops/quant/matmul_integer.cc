// MatMulInteger: (A - a's zero point) · (B - b's zero point) of 8-bit integers, summed in int32.
#include "ops/quant/common/codes_matmul.h"

namespace retort::ops {
namespace {

struct MatMulInteger {
  static constexpr CodesMatMul product{.a = 0, .b = 1, .a_zero = 2, .b_zero = 3};

  void infer(InferContext& c) const {
    c.set(0, DType::i32);
    c.set(0, DType::i32, product.infer(c));
  }
  Cost cost(const CostContext& c) const { return product_cost(c, c.extent(0, -1)); }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return product.prepare(c); }
  size_t scratch(const RunContext& c) const { return product.scratch(c); }
  void run(RunContext& c) const { product.run(c, {.data = c.out_data()}); }
};

}  // namespace

extern const OpDef op_matmul_integer;
constinit const OpDef op_matmul_integer = define<MatMulInteger>({
    .name = "MatMulInteger",
    .since = {10},
    .inputs = {"A: T", "B: U", "a_zero_point: T?", "b_zero_point: U?"},
    .outputs = {"Y: int32"},
    .types = types({DType::i8, DType::u8}),
});

}  // namespace retort::ops
