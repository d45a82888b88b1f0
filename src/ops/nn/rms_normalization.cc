// RMSNormalization: x / sqrt(mean of x² + epsilon) · scale over the axes from `axis` on. The result has scale's type.
#include "ops/nn/common/rms_normalization.h"

namespace retort::ops {
namespace {

struct RmsNormalization : RmsNormalize {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(1));
    c.axis(axis, c.rank(0));
    c.set(0, c.dtype(1), c.shape(0));
    check_parameter(c, 1);
  }
};

}  // namespace

extern const OpDef op_rms_normalization;
constinit const OpDef op_rms_normalization = define<RmsNormalization>({
    .name = "RMSNormalization",
    .since = {23},
    .inputs = {"X: T", "scale: V"},
    .outputs = {"Y: V"},
    .types = kFloats,
});

}  // namespace retort::ops
