// ReduceProd: product over axes; integers wrap around.
#include "ops/math/arithmetic.h"
#include "ops/math/reduce.h"

namespace retort::ops {
namespace {

struct ReduceProd : Reduce<ReduceProd> {
  static constexpr kernels::Reduce kernel = kernels::Reduce::prod;
  template <typename T>
  static T reduce(const Reduced<T>& values) {
    SumType<T> product = 1;
    for (size_t i = 0; i < values.size(); ++i) product = wrap_mul(product, SumType<T>(values[i]));
    return T(product);
  }
  static std::optional<Dim> symbolic(DimTable& d, std::span<const Dim> x) {
    Dim product = 1;
    for (Dim v : x) product = is_known(product) && is_known(v) ? wrap_mul(product, v) : d.mul(product, v);
    return product;
  }
};

}  // namespace

extern const OpDef op_reduce_prod;
constinit const OpDef op_reduce_prod = define<ReduceProd>({
    .name = "ReduceProd",
    .since = {1, 11, 13, 18},
    .inputs = {"data: T", "axes: int64?"},
    .outputs = {"reduced: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
    .traits = kReduces,
});

}  // namespace retort::ops
