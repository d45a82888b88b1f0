// Scaler: (x - offset) · scale, with one offset and scale for all features or one for each.
#include "ops/ml/common/features.h"

namespace retort::ops {
namespace {

struct Scaler {
  std::vector<float> offset, scale;
  static constexpr std::tuple attributes{attr("offset", &Scaler::offset), attr("scale", &Scaler::scale)};

  void check() const {
    require(!offset.empty() && offset.size() == scale.size(), ErrorCode::invalid_argument,
            "there are {} offsets and {} scales", offset.size(), scale.size());
  }
  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    const Shape& x = c.shape(0);
    require(x.rank() > 0 && (offset.size() == 1 || may_equal(features_of(x), int64_t(offset.size()))),
            ErrorCode::invalid_argument, "there are {} offsets for X of shape {}", offset.size(), c.dims().text(x));
    c.set(0, DType::f32, x);
  }
  Cost cost(const CostContext& c) const { return {.operations = 2 * c.count(0)}; }

  template <typename T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<float>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = float((x[i] - offset[i % offset.size()]) * scale[i % offset.size()]);
  }
  template <Feature T>
  void fast(RunContext& c, std::type_identity<T>) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<float>();
    const size_t n = offset.size();
    for_output_chunks(c, [&](size_t begin, size_t end) {
      if (n == 1) {
        const float a = offset[0], b = scale[0];
        for (size_t i = begin; i < end; ++i) y[i] = float((x[i] - a) * b);
        return;
      }
      for (size_t i = begin; i < end;) {
        const size_t feature = i % n, stop = std::min(end, i - feature + n);
        for (size_t f = feature; i < stop; ++i, ++f) y[i] = float((x[i] - offset[f]) * scale[f]);
      }
    });
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
