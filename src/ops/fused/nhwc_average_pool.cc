// retort.AveragePool: mean of a window over channels-last images, one to three spatial axes.
#include "ops/fused/common/nhwc_pool.h"

namespace retort::ops {
namespace {

struct NhwcAveragePool : NhwcPool<NhwcAveragePool> {
  bool count_include_pad = false;
  static constexpr auto attributes =
      std::tuple_cat(pool_attributes, std::tuple{attr("count_include_pad", &NhwcAveragePool::count_include_pad)});

  kernels::PoolArgs arguments(const RunContext& c) const {
    using enum kernels::PoolKind;
    return pool_arguments(c, *this, count_include_pad ? average_include_pad : average, true);
  }
};

}  // namespace

extern const OpDef op_nhwc_average_pool;
constinit const OpDef op_nhwc_average_pool = define<NhwcAveragePool>({
    .name = "AveragePool",
    .domain = "retort",
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
    .traits = kInternal | kImagewise,
});

}  // namespace retort::ops
