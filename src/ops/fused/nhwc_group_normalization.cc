// retort.GroupNormalization: groups of channels of a channels-last image are normalised together; scale and bias are per
// channel, and an activation follows.
#include "kernels/norm/group_norm.h"
#include "ops/fused/common/activation.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {
namespace {

struct NhwcGroupNormalization : ActivationAttributes {
  int64_t num_groups = 1;
  float epsilon = 1e-5f;
  static constexpr auto attributes =
      std::tuple_cat(std::tuple{required("num_groups", &NhwcGroupNormalization::num_groups),
                                attr("epsilon", &NhwcGroupNormalization::epsilon)},
                     activation_attributes);

  void check() const {
    require(num_groups > 0, ErrorCode::invalid_argument, "num_groups is {}", num_groups);
    ActivationAttributes::check();
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    require(x.rank() >= 3, ErrorCode::invalid_argument, "input of rank {}", x.rank());
    for (size_t i : {1u, 2u}) {
      if (c.ranked(i) && all_known(c.shape(i)) && is_known(x.back()))
        require(c.shape(i) == Shape{x.back()}, ErrorCode::invalid_argument, "input {} has shape {} for {} channels", i,
                to_string(c.shape(i)), x.back());
    }
    c.set(0, c.dtype(0), x);
  }
  Cost cost(const CostContext& c) const { return normalisation_cost(c); }
  size_t scratch(const RunContext& c) const {
    return kernels::group_norm_nhwc_scratch(arguments(c), c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    kernels::group_norm_nhwc(arguments(c), c.scratch(), c.parallel());
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    kernels::group_norm_nhwc_reference(arguments(c));
  }

 private:
  kernels::GroupNorm arguments(const RunContext& c) const {
    const Shape& x = c.shape(0);
    const int64_t channels = x.back();
    require(channels % num_groups == 0, ErrorCode::invalid_argument, "{} channels in {} groups", channels, num_groups);
    return {.batch = size_t(x[0]),
            .channels = size_t(channels),
            .spatial = size_t(extent_product(x, 1, x.rank() - 1)),
            .groups = size_t(num_groups),
            .x = static_cast<const float*>(c.data(0)),
            .gamma = static_cast<const float*>(c.data(1)),
            .beta = static_cast<const float*>(c.data(2)),
            .epsilon = epsilon,
            .y = static_cast<float*>(c.out_data()),
            .activation = value()};
  }
};

}  // namespace

extern const OpDef op_nhwc_group_normalization;
constinit const OpDef op_nhwc_group_normalization = define<NhwcGroupNormalization>({
    .name = "GroupNormalization",
    .domain = "retort",
    .inputs = {"X: T", "scale: T", "bias: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
    .traits = kInternal,
});

}  // namespace retort::ops
