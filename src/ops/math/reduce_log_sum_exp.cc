// ReduceLogSumExp: logarithm of the sum of exponentials over axes, without overflow; -inf without elements. For
// integers it is computed in double, rounded towards zero, and at least the lowest value of the type.
#include <cmath>

#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceLogSumExp : Reduce<ReduceLogSumExp> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::log_sum_exp;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    double top = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < values.size(); ++i) top = std::max(top, double(values[i]));
    if (std::isinf(top)) top = top < 0 ? 0 : top;
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double v = double(values[i]);
      sum += std::isinf(v) && v == top ? 1.0 : std::exp(v - top);
    }
    return from_real<T>(std::log(sum) + top, values.type);
  }
};

}  // namespace

extern const OpDef op_reduce_log_sum_exp;
constinit const OpDef op_reduce_log_sum_exp = define<ReduceLogSumExp>({
    .name = "ReduceLogSumExp",
    .since = {1, 11, 13, 18, 28},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
    .traits = kReduces,
});

}  // namespace retort::ops
