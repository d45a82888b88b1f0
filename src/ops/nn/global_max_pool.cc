// GlobalMaxPool: maximum over all spatial axes, which become 1. As in MaxPool, NaN wins.
#include "ops/nn/common/pool.h"

namespace retort::ops {
namespace {

struct GlobalMaxPool {
  void infer(InferContext& c) const { infer_global_pool(c); }
  Cost cost(const CostContext& c) const { return {.operations = c.count(0)}; }
  template <std::floating_point T>
  void reference(RunContext& c) const {
    reduce_planes<T>(c, [](std::span<const T> x) {
      T best = -std::numeric_limits<T>::infinity();
      for (T v : x) best = v > best || std::isnan(v) ? v : best;
      return best;
    });
  }
};

}  // namespace

extern const OpDef op_global_max_pool;
constinit const OpDef op_global_max_pool = define<GlobalMaxPool>({
    .name = "GlobalMaxPool",
    .since = {1, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
