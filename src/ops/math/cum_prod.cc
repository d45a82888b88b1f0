// CumProd: running products along an axis.
#include "ops/math/cumulative.h"

namespace retort::ops {
namespace {

struct CumProd : Cumulative {
  template <typename T>
  void reference(RunContext& c) const {
    accumulate<T>(c, 1, [](auto total, auto x) { return wrap_mul(total, x); });
  }

  template <OneOf<float, int64_t> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    if (c.out_count() > 0)
      kernels::running_product(running(c), c.input<T>(0).data(), c.output<T>().data(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_cum_prod;
constinit const OpDef op_cum_prod = define<CumProd>({
    .name = "CumProd",
    .since = {26},
    .inputs = {"x: T", "axis: T2"},
    .outputs = {"y: T"},
    .types = kNumeric,
});

}  // namespace retort::ops
