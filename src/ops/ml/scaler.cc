// Scaler: (x - offset) · scale, with one offset and scale for all features or one for each.
#include "ops/ml/common/features.h"

namespace retort::ops {
namespace {

struct Scaler {
  std::vector<float> offset, scale;
  static constexpr std::tuple attributes{attr("offset", &Scaler::offset), attr("scale", &Scaler::scale)};

  void check() const {
    require(!offset.empty() && offset.size() == scale.size(), ErrorCode::invalid_argument, "{} offsets and {} scales",
            offset.size(), scale.size());
  }
  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    const Shape& x = c.shape(0);
    require(x.rank() > 0 && (offset.size() == 1 || may_equal(x.back(), int64_t(offset.size()))),
            ErrorCode::invalid_argument, "{} offsets for X of shape {}", offset.size(), c.dims().text(x));
    c.set(0, DType::f32, x);
  }
  void run(RunContext& c) const {
    const std::vector<float> x = load_features(c, 0);
    const auto y = c.output<float>();
    const size_t n = offset.size();
    for (size_t i = 0; i < x.size(); ++i) y[i] = (x[i] - offset[i % n]) * scale[i % n];
  }
};

}  // namespace

extern const OpDef op_scaler;
constinit const OpDef op_scaler = define<Scaler>({
    .name = "Scaler",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: float"},
    .types = kFeatureTypes,
});

}  // namespace retort::ops
