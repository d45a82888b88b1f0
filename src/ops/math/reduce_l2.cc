// ReduceL2: square root of the sum of squares over axes. For integers it is computed in double, rounded towards zero,
// and limited to the largest value of the type.
#include <cmath>

#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceL2 : Reduce<ReduceL2> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::l2;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    double squares = 0;
    for (size_t i = 0; i < values.size(); ++i) squares += double(values[i]) * double(values[i]);
    return from_real<T>(std::sqrt(squares), values.type);
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
    .traits = kReduces,
});

}  // namespace retort::ops
