// GlobalLpPool: p-norm over all spatial axes, which become 1.
#include "ops/nn/common/pool.h"

namespace retort::ops {
namespace {

struct GlobalLpPool {
  int64_t p = 2;
  static constexpr std::tuple attributes{attr("p", &GlobalLpPool::p)};
  void infer(InferContext& c) const { infer_global_pool(c); }
  Cost cost(const CostContext& c) const { return {.operations = c.count(0)}; }
  template <std::floating_point T>
  void reference(RunContext& c) const {
    const PNorm norm{p};
    reduce_planes<T>(c, [&](std::span<const T> x) {
      double sum = 0;
      for (T v : x) sum += norm.power(double(v));
      return T(norm.root(sum));
    });
  }
};

}  // namespace

extern const OpDef op_global_lp_pool;
constinit const OpDef op_global_lp_pool = define<GlobalLpPool>({
    .name = "GlobalLpPool",
    .since = {1, 2, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
