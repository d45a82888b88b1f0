// SVMRegressor: the weighted kernel values of a row and the support vectors, plus rho; without support vectors
// (n_supports), the product with the coefficients plus rho. one_class returns the sign: 1 above zero, otherwise -1.
//
// As in ONNX Runtime, post_transform changes nothing, because a single score is unchanged.
#include "ops/ml/common/svm.h"

namespace retort::ops {
namespace {

struct SvmRegressor : SvmAttributes {
  int64_t n_supports = 0;
  bool one_class = false;
  static constexpr auto attributes = std::tuple_cat(
      svm_attributes,
      std::tuple{attr("n_supports", &SvmRegressor::n_supports), attr("one_class", &SvmRegressor::one_class)});

  size_t supports() const { return n_supports > 0 ? size_t(n_supports) : 0; }
  size_t features() const { return supports() ? support_vectors.size() / supports() : coefficients.size(); }

  void check() const {
    check_svm(supports());
    require(coefficients.size() >= supports(), ErrorCode::invalid_argument,
            "there are {} coefficients for {} support vectors", coefficients.size(), n_supports);
  }

  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    c.set(0, DType::f32, {infer_rows(c, features()), 1});
  }

  struct Packed : State {
    explicit Packed(const SvmRegressor& op) : supports(op, op.supports()) {}
    SupportVectors supports;
  };
  std::unique_ptr<State> prepare(PrepareContext&) const {
    return supports() ? std::make_unique<Packed>(*this) : nullptr;
  }
  FeatureBlocks<> blocks(const RunContext& c) const { return FeatureBlocks(c, svm_block_rows(supports())); }
  /// Floats of scratch for each worker: converted rows and kernel values.
  size_t each(const RunContext& c) const { return blocks(c).scratch(c) + svm_block_rows(supports()) * supports(); }
  size_t scratch(const RunContext& c) const { return size_t(c.parallel().workers()) * each(c) * sizeof(float); }

  template <typename T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const auto y = c.output<float>();
    const SvmKernel k = kernel();
    const size_t n = features();
    for (size_t r = 0; r < y.size(); ++r) {
      double sum = rho[0];
      if (supports() == 0) sum += SvmKernel()(x.data() + r * n, coefficients.data(), n);
      for (size_t s = 0; s < supports(); ++s)
        sum += coefficients[s] * k(x.data() + r * n, support_vectors.data() + s * n, n);
      y[r] = result(float(sum));
    }
  }
  template <Feature T>
  void fast(RunContext& c, std::type_identity<T>) const {
    std::optional<Packed> own;
    if (supports() && !c.state<Packed>()) own.emplace(*this);
    const Packed* packed = own ? &*own : c.state<Packed>();
    blocks(c).for_each(
        c, static_cast<float*>(c.scratch()), each(c), [&](size_t first, size_t count, const float* x, float* values) {
          if (packed) packed->supports.kernels(x, count, values);
          const size_t n = packed ? supports() : features();
          float* y = c.output<float>().data() + first;
          kernels::gemv_rows(
              {.n = count, .k = n, .x = coefficients.data(), .b = packed ? values : x, .b_stride = n, .y = y});
          for (size_t r = 0; r < count; ++r) y[r] = result(y[r] + rho[0]);
        });
  }

 private:
  float result(float score) const { return !one_class ? score : score > 0 ? 1.0f : -1.0f; }
};

}  // namespace

extern const OpDef op_svm_regressor;
constinit const OpDef op_svm_regressor = define<SvmRegressor>({
    .name = "SVMRegressor",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: float"},
    .types = kFeatureTypes,
});

}  // namespace retort::ops
