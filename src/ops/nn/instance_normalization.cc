// InstanceNormalization: each channel of each image is normalised, then scaled and shifted.
#include "ops/nn/common/group_normalize.h"

namespace retort::ops {
namespace {

struct InstanceNormalization {
  float epsilon = 1e-5f;
  static constexpr std::tuple attributes{attr("epsilon", &InstanceNormalization::epsilon)};

  void infer(InferContext& c) const { infer_group_norm(c); }
  Cost cost(const CostContext& c) const { return normalisation_cost(c); }
  template <std::floating_point T>
  void reference(RunContext& c) const {
    group_norm_reference<T>(c, size_t(c.shape(0)[1]), epsilon);
  }
  void fast(RunContext& c, std::type_identity<float>) const { group_norm_fast(c, size_t(c.shape(0)[1]), epsilon); }
};

}  // namespace

extern const OpDef op_instance_normalization;
constinit const OpDef op_instance_normalization = define<InstanceNormalization>({
    .name = "InstanceNormalization",
    .since = {1, 6, 22},
    .inputs = {"input: T", "scale: T", "B: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
