// retort.MaxPool: largest element of a window over channels-last images, one or two spatial axes.
#include "ops/fused/common/nhwc_pool.h"

namespace retort::ops {
namespace {

struct NhwcMaxPool : NhwcPool {
  static constexpr auto attributes = pool_attributes;

  void infer(InferContext& c) const { infer_nhwc_pool(c, *this); }

  kernels::PoolArgs arguments(const RunContext& c) const {
    return pool_arguments(c, *this, kernels::PoolKind::max, true);
  }
  void fast(RunContext& c, std::type_identity<float>) const { kernels::pool_nhwc(arguments(c), c.parallel()); }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    kernels::pool_reference(arguments(c), false);
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
