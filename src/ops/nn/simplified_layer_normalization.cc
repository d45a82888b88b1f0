// SimplifiedLayerNormalization: RMS normalisation as ONNX Runtime's exporters write it, in the standard domain and with
// the inverse deviation as second output.
#include "ops/nn/common/rms_normalization.h"

namespace retort::ops {
namespace {

struct SimplifiedLayerNormalization : RmsNormalize {
  void infer(InferContext& c) const {
    const DType stash = stash_type == 1 ? DType::f32 : stash_type == 11 ? DType::f64 : DType(stash_type);
    c.set(0, c.dtype(1));
    c.set(1, stash);
    const Shape& x = c.shape(0);
    c.set(1, stash, statistics_shape(x, c.axis(axis, x.rank())));
    c.set(0, c.dtype(1), x);
    check_parameter(c, 1);
  }
};

}  // namespace

extern const OpDef op_simplified_layer_normalization;
constinit const OpDef op_simplified_layer_normalization = define<SimplifiedLayerNormalization>({
    .name = "SimplifiedLayerNormalization",
    .since = {1},
    .inputs = {"X: T", "scale: V"},
    .outputs = {"Y: V", "inv_std_var: U?"},
    .types = kFloats,
});

}  // namespace retort::ops
