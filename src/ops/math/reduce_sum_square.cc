// ReduceSumSquare: sum of squares over axes.
#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceSumSquare : Reduce<ReduceSumSquare> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::sum_square;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    return T(sum_of(values, [](auto v) { return wrap_mul(v, v); }));
  }
};

}  // namespace

extern const OpDef op_reduce_sum_square;
constinit const OpDef op_reduce_sum_square = define<ReduceSumSquare>({
    .name = "ReduceSumSquare",
    .since = {1, 11, 13, 18},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
    .traits = kReduces,
});

}  // namespace retort::ops
