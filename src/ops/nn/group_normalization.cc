// GroupNormalization: groups of channels are normalised together; scale and bias are per channel.
#include "ops/nn/common/group_normalize.h"

namespace retort::ops {
namespace {

struct GroupNormalization {
  int64_t num_groups = 1, stash_type = 1;
  float epsilon = 1e-5f;
  static constexpr std::tuple attributes{required("num_groups", &GroupNormalization::num_groups),
                                         attr("epsilon", &GroupNormalization::epsilon),
                                         attr("stash_type", &GroupNormalization::stash_type)};

  void check() const { require(num_groups > 0, ErrorCode::invalid_argument, "num_groups is {}", num_groups); }

  void infer(InferContext& c) const { infer_group_norm(c); }
  Cost cost(const CostContext& c) const { return normalisation_cost(c); }
  template <std::floating_point T>
  void reference(RunContext& c) const {
    group_norm_reference<T>(c, groups(c), epsilon);
  }
  void fast(RunContext& c, std::type_identity<float>) const { group_norm_fast(c, groups(c), epsilon); }

 private:
  size_t groups(const RunContext& c) const {
    const int64_t channels = c.shape(0)[1];
    require(channels % num_groups == 0, ErrorCode::invalid_argument, "{} channels in {} groups", channels, num_groups);
    return size_t(num_groups);
  }
};

}  // namespace

extern const OpDef op_group_normalization;
constinit const OpDef op_group_normalization = define<GroupNormalization>({
    .name = "GroupNormalization",
    .since = {18, 21},
    .inputs = {"X: T", "scale: T", "bias: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
