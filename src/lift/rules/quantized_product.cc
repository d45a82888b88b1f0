// Quantised products of com.microsoft. They become MatMulInteger, whose sums are then scaled, get a bias, or are
// quantised again. Integers of other widths are converted before.
#include "lift/quantized.h"

namespace retort {
namespace {

// MatMulInteger of a and b as float, times `scale`.
struct CodeMatrices {
  ValueId a, b, a_zero, b_zero;
};
ValueId product_of_codes(Rewriter& r, const CodeMatrices& c) {
  return r.add({.type = "MatMulInteger", .inputs = {c.a, c.b, c.a_zero, c.b_zero}});
}
ValueId scaled_sums(Rewriter& r, ValueId sums, ValueId scale) {
  return r.add({.type = "Mul", .inputs = {cast(r, sums, DType::f32), scale}});
}

void finish_product(Rewriter& r, ValueId y, size_t bias) {
  if (r.has(bias)) y = r.add({.type = "Add", .inputs = {y, r.input(bias)}});
  r.replace_output(0, y);
  r.remove();
}

// Scale and zero point of B, input b, of which there is one or one for each column.
void expect_columns(Rewriter& r, size_t b, size_t scale, size_t zero, int64_t columns = kLastExtent) {
  expect_input(r, scale, "b_scale", b, {columns}, true);
  expect_input(r, zero, "b_zero_point", b, {columns}, true);
}

// A, B, a_scale, b_scale, a_zero_point?, b_zero_point?, bias?
void apply_integer_to_float(Rewriter& r) {
  expect_one(r, 2, "a_scale");
  expect_one(r, 4, "a_zero_point");
  expect_columns(r, 1, 3, 5);
  expect_input(r, 6, "bias", 1, {kLastExtent});
  const ValueId sums = product_of_codes(r, {r.input(0), r.input(1), input_or_none(r, 4), input_or_none(r, 5)});
  // In float, because a sum of codes may be greater than the numbers of float16 although the scaled sum is not.
  const auto real = [&](size_t i) { return cast(r, r.input(i), DType::f32); };
  ValueId y = scaled_sums(r, sums, r.add({.type = "Mul", .inputs = {real(2), real(3)}}));
  if (r.has(6)) y = r.add({.type = "Add", .inputs = {y, real(6)}});
  r.replace_output(0, cast(r, y, r.type(2).dtype));
  r.remove();
}

// A, B, b_scale, b_zero_point?, bias?
void apply_dynamic_quantize(Rewriter& r) {
  expect_columns(r, 1, 2, 3);
  if (r.has(4) && r.type(4).ranked && r.type(4).rank() > 1)  // ONNX Runtime counts its elements
    r.set_input(4, r.add({.type = "Reshape", .inputs = {r.input(4), r.constant(std::vector<int64_t>{-1})}}));
  expect_input(r, 4, "bias", 1, {kLastExtent});
  const auto made = r.add_all({.type = "DynamicQuantizeLinear", .inputs = {r.input(0)}, .outputs = 3});
  const ValueId sums = product_of_codes(r, {made[0], r.input(1), made[2], input_or_none(r, 3)});
  const ValueId scale = r.add({.type = "Mul", .inputs = {made[1], r.input(2)}});
  finish_product(r, scaled_sums(r, sums, scale), 4);
}

// A, a_scale, a_zero_point, B, b_scale, b_zero_point, C?, y_scale?, y_zero_point?
void apply_q_gemm(Rewriter& r) {
  const auto operand = [&](size_t i, std::string_view name) {
    return r.attributes().get_or<int64_t>(name, 0) != 0 ? transposed(r, r.input(i), 2) : r.input(i);
  };
  for (const size_t i : {0, 3}) expect_input(r, i, i == 0 ? "A" : "B", kNoInput, {kAnyExtent, kAnyExtent});
  expect_columns(r, 3, 4, 5, r.attributes().get_or<int64_t>("transB", 0) != 0 ? extent_of(0) : kLastExtent);
  require(!r.has(6) || !r.type(6).ranked || r.type(6).rank() <= 2, ErrorCode::invalid_argument,
          "C has {} axes, expected 2 or less", r.has(6) ? r.type(6).rank() : 0);
  expect_one(r, 1, "a_scale");
  expect_one(r, 2, "a_zero_point");
  const float alpha = r.attributes().get_or<float>("alpha", 1);
  ValueId sums = product_of_codes(r, {operand(0, "transA"), operand(3, "transB"), r.input(2), r.input(5)});
  if (r.has(6)) sums = r.add({.type = "Add", .inputs = {sums, r.input(6)}});
  ValueId scale = r.add({.type = "Mul", .inputs = {r.input(1), r.input(4)}});
  if (alpha != 1) scale = r.add({.type = "Mul", .inputs = {scale, r.constant(float_scalar(DType::f32, alpha))}});
  const ValueId y = scaled_sums(r, sums, scale);
  if (r.has(7) && r.has(8)) return store_codes(r, y, 7, 8);
  finish_product(r, y, 9);
}

void apply_integer16(Rewriter& r) {
  const auto wide = [&](size_t i) { return cast(r, r.input(i), DType::i32); };
  r.replace_output(0, r.add({.type = "MatMul", .inputs = {wide(0), wide(1)}}));
  r.remove();
}

// A, A_zero_point?, B, B_zero_point?
void apply_mul_integer(Rewriter& r) {
  expect_one(r, 1, "A_zero_point");
  expect_one(r, 3, "B_zero_point");
  const auto number = [&](size_t i) {
    const ValueId x = cast(r, r.input(i), DType::i32);
    return r.has(i + 1) ? r.add({.type = "Sub", .inputs = {x, cast(r, r.input(i + 1), DType::i32)}}) : x;
  };
  const std::vector<ValueId> inputs{number(0), number(2)};
  r.replace_output(0, r.add({.type = "Mul", .inputs = inputs}));
  r.remove();
}

void apply_reduce_sum_integer(Rewriter& r) {
  const ValueId x = cast(r, r.input(0), r.type(0).dtype == DType::u8 ? DType::u32 : DType::i32);
  r.replace_output(0, reduced(r, "ReduceSum", x));
  r.remove();
}

constexpr LiftRule kProductRules[] = {
    {"DynamicQuantizeMatMul", kAlways, apply_dynamic_quantize, "com.microsoft"},
    {"MatMulInteger16", kAlways, apply_integer16, "com.microsoft"},
    {"MatMulIntegerToFloat", kAlways, apply_integer_to_float, "com.microsoft"},
    {"MulInteger", kAlways, apply_mul_integer, "com.microsoft"},
    {"QGemm", kAlways, apply_q_gemm, "com.microsoft"},
    {"ReduceSumInteger", kAlways, apply_reduce_sum_integer, "com.microsoft"},
};

}  // namespace

extern const LiftRules lift_quantized_product;
constinit const LiftRules lift_quantized_product{kProductRules};

}  // namespace retort
