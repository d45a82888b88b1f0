// LinearRegressor: the products of a row with the coefficients of each target, plus the intercepts.
#include "ops/ml/common/features.h"
#include "ops/ml/common/packed_vectors.h"
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
    require(!coefficients.empty() && int64_t(coefficients.size()) % targets == 0, ErrorCode::invalid_argument,
            "there are {} coefficients for {} targets", coefficients.size(), targets);
    post_transform(transform);
  }
  size_t features() const { return coefficients.size() / size_t(targets); }

  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    c.set(0, DType::f32, {infer_rows(c, features()), targets});
  }
  Cost cost(const CostContext& c) const {
    return {.multiply_adds = per(c.count(0), c.extent(0, -1)) * double(coefficients.size())};
  }

  struct Packed : State {
    explicit Packed(const LinearRegressor& op) : vectors(op.coefficients.data(), size_t(op.targets), op.features()) {}
    PackedVectors vectors;
  };
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Packed>(*this); }
  size_t scratch(const RunContext& c) const {
    return size_t(c.parallel().workers()) * FeatureBlocks(c).scratch(c) * sizeof(float);
  }

  template <typename T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<float>();
    const size_t n = size_t(targets), k = features();
    for (size_t i = 0; i < y.size(); ++i) {
      double sum = intercepts.empty() ? 0 : intercepts[i % n];
      for (size_t f = 0; f < k; ++f) sum += double(float(x[i / n * k + f])) * coefficients[i % n * k + f];
      y[i] = float(sum);
    }
    for (size_t i = 0; i < y.size(); i += n) apply(post_transform(transform), y.subspan(i, n));
  }
  template <Feature T>
  void fast(RunContext& c, std::type_identity<T>) const {
    const std::optional<Packed> own = c.state<Packed>() ? std::nullopt : std::optional<Packed>(*this);
    const PackedVectors& packed = own ? own->vectors : c.state<Packed>()->vectors;
    const FeatureBlocks blocks(c);
    const size_t n = size_t(targets);
    blocks.for_each(c, static_cast<float*>(c.scratch()), blocks.scratch(c),
                    [&](size_t first, size_t count, const float* x, float*) {
                      float* y = c.output<float>().data() + first * n;
                      packed.multiply(x, count, intercepts.empty() ? nullptr : intercepts.data(), y, n);
                      apply_rows(post_transform(transform), y, count, n);
                    });
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
