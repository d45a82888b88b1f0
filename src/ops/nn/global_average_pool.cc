// GlobalAveragePool: mean over all spatial axes, which become 1.
#include "kernels/pool/pool.h"
#include "ops/nn/common/pool.h"

namespace retort::ops {
namespace {

struct GlobalAveragePool {
  void infer(InferContext& c) const { infer_global_pool(c); }
  Cost cost(const CostContext& c) const { return {.operations = c.count(0)}; }
  template <std::floating_point T>
  void reference(RunContext& c) const {
    reduce_planes<T>(c, [](std::span<const T> x) {
      double sum = 0;
      for (T v : x) sum += v;
      return T(sum / double(x.size()));
    });
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const size_t planes = c.out_count();
    if (c.count(0) == 0) return reference<float>(c);
    kernels::global_average_nchw(c.input<float>(0).data(), planes, c.count(0) / planes, c.output<float>().data(),
                                 c.parallel());
  }
};

}  // namespace

extern const OpDef op_global_average_pool;
constinit const OpDef op_global_average_pool = define<GlobalAveragePool>({
    .name = "GlobalAveragePool",
    .since = {1, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
