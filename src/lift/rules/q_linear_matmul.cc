// QLinearMatMul with an operand or a result of 8-bit floats: a product of real numbers, which is quantised.
#include "base/error.h"
#include "lift/rewriter.h"
#include "ops/infer.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;
enum MatMulInput : size_t { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };

bool is_float8(DType type) {
  return type == DType::f8e4m3fn || type == DType::f8e4m3fnuz || type == DType::f8e5m2 || type == DType::f8e5m2fnuz;
}

// A scale or zero point of operand x: one number, or one for each row or column, which is extent `axis` from the back.
ValueId parameter(Rewriter& r, size_t i, size_t x, size_t axis) {
  const ValueType given = r.type(i), of = r.type(x);  // copies, since new values move the types of all
  const ValueId value = cast(r, r.input(i), DType::f32);
  if (!given.ranked || !of.ranked || given.rank() > 1) return value;
  const Dim wanted = of.rank() >= 2 ? of.shape[of.rank() - axis] : Dim(1),
            count = given.rank() == 0 ? 1 : given.shape[0];
  require(count == 1 || may_equal(count, wanted), ErrorCode::invalid_argument,
          "input {} has shape {}, expected one number or {} for the shape {}", i, r.graph().dims().text(given.shape),
          r.graph().dims().text(wanted), r.graph().dims().text(of.shape));
  if (axis == 1 || of.rank() < 2) return value;
  return r.add({.type = "Reshape", .inputs = {value, r.constant(Ints{-1, 1})}});
}

// (codes - zero point) · scale
ValueId real_numbers(Rewriter& r, size_t x, size_t axis) {
  const ValueId shifted =
      r.add({.type = "Sub", .inputs = {cast(r, r.input(x), DType::f32), parameter(r, x + 2, x, axis)}});
  return r.add({.type = "Mul", .inputs = {shifted, parameter(r, x + 1, x, axis)}});
}

void multiply_float8(Rewriter& r) {
  if (!is_float8(r.type(kA).dtype) && !is_float8(r.type(kB).dtype) && !is_float8(r.type(kYZero).dtype)) return;
  const auto scalar = [&](ValueId x) { return r.add({.type = "Reshape", .inputs = {x, r.constant(Ints{})}}); };
  const ValueId product = r.add({.type = "MatMul", .inputs = {real_numbers(r, kA, 2), real_numbers(r, kB, 1)}});
  const ValueId scale = scalar(cast(r, r.input(kYScale), DType::f32));
  r.replace_output(0, r.add({.type = "QuantizeLinear", .inputs = {product, scale, scalar(r.input(kYZero))}}));
  r.remove();
}

constexpr LiftRule kQLinearMatMulRules[] = {{"QLinearMatMul", kAlways, multiply_float8}};

}  // namespace

extern const LiftRules lift_q_linear_matmul;
constinit const LiftRules lift_q_linear_matmul{kQLinearMatMulRules};

}  // namespace retort
