// ReduceLogSum: logarithm of the sum over axes; -inf without elements. For integers it is computed in double and
// rounded towards zero.
#include <cmath>

#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceLogSum : Reduce<ReduceLogSum> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::log_sum;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += double(values[i]);
    return from_real<T>(std::log(sum), values.type);
  }
};

}  // namespace

extern const OpDef op_reduce_log_sum;
constinit const OpDef op_reduce_log_sum = define<ReduceLogSum>({
    .name = "ReduceLogSum",
    .since = {1, 11, 13, 18, 28},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
    .traits = kReduces,
});

}  // namespace retort::ops
