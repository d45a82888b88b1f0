// retort.AveragePool: mean of a window over channels-last images, one or two spatial axes.
#include "ops/fused/common/nhwc_pool.h"

namespace retort::ops {
namespace {

struct NhwcAveragePool : NhwcPool {
  bool count_include_pad = false;
  static constexpr auto attributes =
      std::tuple_cat(pool_attributes, std::tuple{attr("count_include_pad", &NhwcAveragePool::count_include_pad)});

  void infer(InferContext& c) const { infer_nhwc_pool(c, *this); }

  kernels::PoolArgs arguments(const RunContext& c) const {
    using enum kernels::PoolKind;
    return pool_arguments(c, *this, count_include_pad ? average_include_pad : average, true);
  }
  void fast(RunContext& c, std::type_identity<float>) const { kernels::pool_nhwc(arguments(c), c.parallel()); }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    kernels::pool_reference(arguments(c), false);
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
