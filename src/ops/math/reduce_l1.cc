// ReduceL1: sum of magnitudes over axes.
#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceL1 : Reduce<ReduceL1> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::l1;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    return T(sum_of(values, [](auto v) { return v < 0 ? wrap_sub(decltype(v)(0), v) : v; }));
  }
};

}  // namespace

extern const OpDef op_reduce_l1;
constinit const OpDef op_reduce_l1 = define<ReduceL1>({
    .name = "ReduceL1",
    .since = {1, 11, 13, 18},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
    .traits = kReduces,
});

}  // namespace retort::ops
