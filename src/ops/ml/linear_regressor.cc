// LinearRegressor: the products of a row with the coefficients of each target, plus the intercepts.
#include "ops/ml/common/features.h"
#include "ops/ml/common/post_transform.h"

namespace retort::ops {
namespace {

struct LinearRegressor {
  std::vector<float> coefficients, intercepts;
  int64_t targets = 1;
  std::string transform = "NONE";
  static constexpr std::tuple attributes{
      attr("coefficients", &LinearRegressor::coefficients), attr("intercepts", &LinearRegressor::intercepts),
      attr("post_transform", &LinearRegressor::transform), attr("targets", &LinearRegressor::targets)};

  void check() const {
    require(targets > 0 && (intercepts.empty() || int64_t(intercepts.size()) == targets), ErrorCode::invalid_argument,
            "{} targets, {} intercepts", targets, intercepts.size());
    require(int64_t(coefficients.size()) % targets == 0, ErrorCode::invalid_argument, "{} coefficients for {} targets",
            coefficients.size(), targets);
    post_transform(transform);
  }
  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    const Shape& x = c.shape(0);
    require((x.rank() == 1 || x.rank() == 2) && may_equal(x.back(), int64_t(coefficients.size()) / targets),
            ErrorCode::invalid_argument, "X of shape {} for {} coefficients of {} targets", c.dims().text(x),
            coefficients.size(), targets);
    c.set(0, DType::f32, {x.rank() == 2 ? x[0] : 1, targets});
  }
  void run(RunContext& c) const {
    const std::vector<float> x = load_features(c, 0);
    const auto [rows, features] = FeatureRows::of(c);
    const auto y = c.output<float>();
    const auto n = size_t(targets);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t t = 0; t < n; ++t) {
        double sum = intercepts.empty() ? 0 : double(intercepts[t]);
        for (size_t f = 0; f < features; ++f)
          sum += double(x[r * features + f]) * double(coefficients[t * features + f]);
        y[r * n + t] = float(sum);
      }
      apply(post_transform(transform), y.subspan(r * n, n));
    }
  }
};

}  // namespace

extern const OpDef op_linear_regressor;
constinit const OpDef op_linear_regressor = define<LinearRegressor>({
    .name = "LinearRegressor",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: float"},
    .types = kFeatureTypes,
});

}  // namespace retort::ops
