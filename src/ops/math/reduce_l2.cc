// ReduceL2: square root of the sum of squares over axes; of integers rounded towards zero.
#include <cmath>

#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceL2 : Reduce<ReduceL2> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::l2;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    return T(std::sqrt(double(sum_of(values, [](auto v) { return wrap_mul(v, v); }))));
  }
};

}  // namespace

extern const OpDef op_reduce_l2;
constinit const OpDef op_reduce_l2 = define<ReduceL2>({
    .name = "ReduceL2",
    .since = {1, 11, 13, 18},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
});

}  // namespace retort::ops
