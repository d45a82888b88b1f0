#include "passes/passes.h"
#include "passes/passes_testing.h"

namespace retort {
namespace {

void expect_widened(TestGraph& t, const std::string& after) {
  const std::vector<Tensor> inputs = random_inputs(t.g);
  const std::vector<Tensor> want = interpret(t.g, inputs);
  PassOptions options;
  PassContext context(options);
  pass_widen_half.run(t.g, context);
  infer_types(t.g);
  pass_dead_code.run(t.g, context);
  verify(t.g);
  EXPECT_EQ(renumbered(print(t.g)), after);
  const std::vector<Tensor> got = interpret(t.g, inputs);
  ASSERT_EQ(got[0].dtype(), want[0].dtype());
}

ValueId as(TestGraph& t, ValueId v, DType type) { return t.add("Cast", {v}, {{"to", int64_t(type)}}); }

TEST(WidenHalf, NothingIsRoundedBetweenTwoProducts) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 4}, DType::f16), w = t.input("w", {4, 4}, DType::f16);
  const ValueId y = t.add("Transpose", {t.add("MatMul", {x, w})});
  t.output(t.add("MatMul", {w, y}), "y");
  expect_widened(t, R"(graph(x: float16[2,4], w: float16[4,4]) {
  Cast#1: float32[2,4] = Cast(x) {to=1}
  Cast#2: float32[4,4] = Cast(w) {to=1}
  MatMul#1: float32[2,4] = MatMul(Cast#1, Cast#2)
  Transpose#1: float32[4,2] = Transpose(MatMul#1)
  Cast#3: float32[4,2] = MatMul(Cast#2, Transpose#1)
  y: float16[4,2] = Cast(Cast#3) {to=10}
  return y
}
)");
}

TEST(WidenHalf, LargeWeightsAreWidenedOnce) {
  TestGraph t;
  const ValueId w = t.g.add_constant("w", Tensor(DType::f16, {2048, 1536}));  // 6 MiB
  t.output(t.add("MatMul", {t.input("x", {1, 2048}, DType::f16), w}), "y");
  PassOptions options;
  PassContext context(options);
  pass_widen_half.run(t.g, context);
  pass_constant_folding.run(t.g, context);
  EXPECT_EQ(renumbered(print(t.g)), R"(graph(x: float16[1,2048]) {
  Cast#1: float32[1,2048] = Cast(x) {to=1}
  Cast#2: float32[1,1536] = MatMul(Cast#1, Cast#3)
  y: float16[1,1536] = Cast(Cast#2) {to=10}
  return y
}
)");
}

TEST(WidenHalf, NodesThatOnlyMoveDataStayAndCastsReadWideValues) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 4}, DType::f16);
  t.output(t.add("Transpose", {x}), "moved");
  t.output(as(t, t.add("MatMul", {x, t.add("Transpose", {x})}), DType::f64), "y");
  expect_widened(t, R"(graph(x: float16[2,4]) {
  moved: float16[4,2] = Transpose(x)
  Transpose#1: float16[4,2] = Transpose(x)
  Cast#1: float32[2,4] = Cast(x) {to=1}
  Cast#2: float32[4,2] = Cast(Transpose#1) {to=1}
  MatMul#1: float32[2,2] = MatMul(Cast#1, Cast#2)
  y: float64[2,2] = Cast(MatMul#1) {to=11}
  return moved, y
}
)");
}

TEST(WidenHalf, ACastToTheSameTypeIsNoRounding) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 2}, DType::f16);
  t.output(t.add("MatMul", {x, as(t, t.add("MatMul", {x, x}), DType::f16)}), "y");
  expect_widened(t, R"(graph(x: float16[2,2]) {
  Cast#1: float32[2,2] = Cast(x) {to=1}
  MatMul#1: float32[2,2] = MatMul(Cast#1, Cast#1)
  Cast#2: float32[2,2] = MatMul(Cast#1, MatMul#1)
  y: float16[2,2] = Cast(Cast#2) {to=10}
  return y
}
)");
}

// Its scales stay constants, which rules for quantised operators read, even if another operator reads them first.
TEST(WidenHalf, DequantizedNumbersAreNotRounded) {
  for (const DType half : {DType::f16, DType::bf16}) {
    TestGraph t;
    Tensor scales(half, {2});
    if (half == DType::f16)
      scales.mutable_data<float16>()[1] = float16(0.75f);
    else
      scales.mutable_data<bfloat16>()[1] = bfloat16(0.75f);
    const ValueId w = t.g.add_constant("w", Tensor::of<int8_t>({2, 2}, {1, 2, 3, 4}));
    const ValueId s = t.g.add_constant("s", std::move(scales)), x = t.add("Mul", {t.input("x", {2, 2}, half), s});
    const ValueId b = t.add("DequantizeLinear", {w, s}, {{"axis", int64_t(1)}});
    t.output(t.add("MatMul", {x, b}), "y");
    PassOptions options;
    PassContext context(options);
    pass_widen_half.run(t.g, context);
    const Node& product = *t.g.producer(t.g.producer(t.g.outputs[0])->inputs[0]);
    const Node& numbers = *t.g.producer(product.inputs[1]);
    ASSERT_TRUE(numbers.is("DequantizeLinear"));
    const Tensor* wide = t.g.constant(numbers.inputs[1]);
    ASSERT_TRUE(wide && wide->dtype() == DType::f32);
    EXPECT_EQ(wide->at<float>(1), 0.75f);
  }
}

// output_dtype asks for the rounding.
TEST(WidenHalf, DequantizedNumbersOfAChosenTypeStay) {
  TestGraph t;
  const ValueId b = t.add("DequantizeLinear", {t.input("w", {2}, DType::i8), t.input("s", {}, DType::f16)},
                          {{"output_dtype", int64_t(10)}});
  t.output(b, "y");
  PassOptions options;
  PassContext context(options);
  pass_widen_half.run(t.g, context);
  EXPECT_EQ(t.g.value(t.g.producer(t.g.outputs[0])->inputs[1]).type.dtype, DType::f16);
}

}  // namespace
}  // namespace retort
