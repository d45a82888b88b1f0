// retort.MaxPool: largest element of a window over channels-last images, one or two spatial axes.
#include "ops/fused/common/nhwc_pool.h"

namespace retort::ops {
namespace {

struct NhwcMaxPool : NhwcPool<NhwcMaxPool> {
  static constexpr auto attributes = pool_attributes;

  kernels::PoolArgs arguments(const RunContext& c) const {
    return pool_arguments(c, *this, kernels::PoolKind::max, true);
  }
};

}  // namespace

extern const OpDef op_nhwc_max_pool;
constinit const OpDef op_nhwc_max_pool = define<NhwcMaxPool>({
    .name = "MaxPool",
    .domain = "retort",
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
    .traits = kInternal | kImagewise,
});

}  // namespace retort::ops
