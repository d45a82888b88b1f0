// ReduceMean: mean over axes; for integers it is rounded towards zero. Without elements, NaN or 0.
#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceMean : Reduce<ReduceMean> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::mean;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    const auto sum = sum_of(values, [](auto v) { return v; });
    return T(safe_div(sum, SumType<T>(values.size())));
  }
};

}  // namespace

extern const OpDef op_reduce_mean;
constinit const OpDef op_reduce_mean = define<ReduceMean>({
    .name = "ReduceMean",
    .since = {1, 11, 13, 18},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
    .traits = kReduces,
});

}  // namespace retort::ops
