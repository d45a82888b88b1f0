// ReduceLogSum: logarithm of the sum over axes; of nothing -inf.
#include <cmath>

#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceLogSum : Reduce<ReduceLogSum> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::log_sum;
  template <std::floating_point T>
  static T reduce(const Reduced<T>& values) {
    return T(std::log(double(sum_of(values, [](auto v) { return v; }))));
  }
};

}  // namespace

extern const OpDef op_reduce_log_sum;
constinit const OpDef op_reduce_log_sum = define<ReduceLogSum>({
    .name = "ReduceLogSum",
    .since = {1, 11, 13, 18, 28},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kFloats,
});

}  // namespace retort::ops
