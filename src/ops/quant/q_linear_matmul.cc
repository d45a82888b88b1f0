// QLinearMatMul: the product of two matrices of codes, in codes: MatMulInteger's, times both scales over that of y, rounded
// half to even. Scales and zero points of A by row, of B by column, or one.
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
  std::unique_ptr<State> prepare(PrepareContext& c) const { return product.prepare(c); }
  size_t scratch(const RunContext& c) const { return product.scratch(c); }

  void run(RunContext& c) const {
    if (c.out_count() == 0) return;
    const MatMulShape s = product.shape(c);
    const ScaleFactors a(c, kAScale, s.m, "a_scale"), b(c, kBScale, s.n, "b_scale"), y(c, kYScale, 1, "y_scale");
    float* scale = product.columns(c);
    for (size_t j = 0; j < s.n; ++j) scale[j] = (a.single() ? a[0] * b[j] : b[j]) / y[0];
    kernels::CodesResult result = codes_result(c, kYZero);
    result.column_scale = scale;
    product.run(c, result, a.single() ? nullptr : &a);
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
