// CumSum: running sums along an axis.
#include "ops/math/cumulative.h"

namespace retort::ops {
namespace {

struct CumSum : Cumulative {
  template <typename T>
  void reference(RunContext& c) const {
    accumulate<T>(c, 0, [](auto total, auto x) { return wrap_add(total, x); });
  }

  template <OneOf<float, double, int32_t, int64_t> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    if (c.out_count() > 0) kernels::running_sum(running(c), c.input<T>(0).data(), c.output<T>().data(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_cum_sum;
constinit const OpDef op_cum_sum = define<CumSum>({
    .name = "CumSum",
    .since = {11, 14},
    .inputs = {"x: T", "axis: T2"},
    .outputs = {"y: T"},
    .types = kNumeric,
});

}  // namespace retort::ops
