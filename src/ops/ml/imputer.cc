// Imputer: elements equal to one value become another, one for all features or one for each. NaN equals NaN.
//
// As in ONNX Runtime, a list that has neither one entry nor one for each feature counts as its first entry.
#include <cmath>
#include <limits>

#include "ops/ml/common/features.h"

namespace retort::ops {
namespace {

struct Imputer {
  std::vector<float> floats;
  std::vector<int64_t> ints;
  float replaced_float = 0;
  int64_t replaced_int = 0;
  static constexpr std::tuple attributes{
      attr("imputed_value_floats", &Imputer::floats), attr("imputed_value_int64s", &Imputer::ints),
      attr("replaced_value_float", &Imputer::replaced_float), attr("replaced_value_int64", &Imputer::replaced_int)};

  void check() const {
    require(floats.empty() != ints.empty(), ErrorCode::invalid_argument,
            "exactly one of imputed_value_floats and imputed_value_int64s is needed");
  }
  void infer(InferContext& c) const {
    const DType type = c.dtype(0);
    c.set(0, type);
    const bool fits = type == DType::f32 || type == DType::f64 ? ints.empty() : floats.empty();
    require(fits, ErrorCode::invalid_argument, "X is {}, expected {} as the list of values to put in", dtype_name(type),
            ints.empty() ? "imputed_value_int64s" : "imputed_value_floats");
    using Range = std::numeric_limits<int32_t>;
    for (const int64_t v : ints) {
      require(type != DType::i32 || (v >= Range::min() && v <= Range::max()), ErrorCode::invalid_argument,
              "imputed_value_int64s holds {}, X is int32", v);
    }
    require(c.rank(0) > 0, ErrorCode::invalid_argument, "X is a scalar");
    c.set(0, type, c.shape(0));
  }
  void run(RunContext& c) const {
    visit_features(c.dtype(0), [&]<typename T>(std::type_identity<T>) {
      if constexpr (std::floating_point<T>)
        impute<T>(c, floats, T(replaced_float));
      else
        impute<T>(c, ints, replaced_int);
    });
  }

 private:
  template <typename T, typename V, typename Replaced>
  static void impute(RunContext& c, const std::vector<V>& values, Replaced replaced) {
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    const size_t features = size_t(features_of(c.shape(0))), n = values.size() == features ? features : 1;
    for_output_chunks(c, [&](size_t begin, size_t end) {
      size_t feature = begin % n;
      for (size_t i = begin; i < end; ++i) {
        // One of the two comparisons is false for NaN, whichever value is.
        const bool put = x[i] == replaced || (x[i] != x[i] && replaced != replaced);
        y[i] = put ? T(values[feature]) : x[i];
        if (++feature == n) feature = 0;
      }
    });
  }
};

}  // namespace

extern const OpDef op_imputer;
constinit const OpDef op_imputer = define<Imputer>({
    .name = "Imputer",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFeatureTypes,
    .traits = kMayAliasInput0,
});

}  // namespace retort::ops
