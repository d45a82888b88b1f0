// ReduceLogSumExp: logarithm of the sum of exponentials over axes, without overflow; of nothing -inf.
#include <cmath>

#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceLogSumExp : Reduce<ReduceLogSumExp> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::log_sum_exp;
  template <std::floating_point T>
  static T reduce(const Reduced<T>& values) {
    double top = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < values.size(); ++i) top = std::max(top, double(values[i]));
    if (std::isinf(top)) top = top < 0 ? 0 : top;
    const double sum = sum_of(values, [&](double v) { return std::isinf(v) && v == top ? 1.0 : std::exp(v - top); });
    return T(std::log(sum) + top);
  }
};

}  // namespace

extern const OpDef op_reduce_log_sum_exp;
constinit const OpDef op_reduce_log_sum_exp = define<ReduceLogSumExp>({
    .name = "ReduceLogSumExp",
    .since = {1, 11, 13, 18, 28},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kFloats,
});

}  // namespace retort::ops
