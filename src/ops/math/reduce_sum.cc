// ReduceSum: sum over axes.
#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceSum : Reduce<ReduceSum> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::sum;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    return T(sum_of(values, [](auto v) { return v; }));
  }
  static std::optional<Dim> symbolic(DimTable& d, std::span<const Dim> x) {
    Dim sum = 0;
    for (Dim v : x) sum = is_known(sum) && is_known(v) ? wrap_add(sum, v) : d.add(sum, v);
    return sum;
  }
};

}  // namespace

extern const OpDef op_reduce_sum;
constinit const OpDef op_reduce_sum = define<ReduceSum>({
    .name = "ReduceSum",
    .since = {1, 11, 13},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
    .traits = kReduces,
});

}  // namespace retort::ops
