// Imputer: replaces elements that equal one value by another, either one for all features or one for each. NaN equals
// NaN.
//
// As in ONNX Runtime, a list that has neither one entry nor one for each feature counts as its first entry.
#include <algorithm>
#include <limits>

#include "base/checked.h"
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
    require(fits, ErrorCode::invalid_argument, "X is {}, expected {} as the list of replacement values",
            dtype_name(type), ints.empty() ? "imputed_value_int64s" : "imputed_value_floats");
    using Range = std::numeric_limits<int32_t>;
    for (const int64_t v : ints) {
      require(type != DType::i32 || (v >= Range::min() && v <= Range::max()), ErrorCode::invalid_argument,
              "imputed_value_int64s contains {}, but X is int32", v);
    }
    require(c.rank(0) > 0, ErrorCode::invalid_argument, "X is a scalar");
    c.set(0, type, c.shape(0));
  }
  Cost cost(const CostContext& c) const { return {.operations = c.count(0)}; }
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
    const size_t features = size_t(features_of(c.shape(0)));
    const std::span<const V> puts(values.data(), values.size() == features ? features : 1);
    if (replaced != replaced)
      put<T>(c, puts, [](T x) { return x != x; });
    else
      put<T>(c, puts, [replaced](T x) { return x == replaced; });
  }

  /// Element i becomes values[i % n] if `chosen` returns true for it.
  template <typename T, typename V, class F>
  static void put(RunContext& c, std::span<const V> values, const F& chosen) {
    const T* x = c.input<T>(0).data();
    T* y = c.output<T>().data();
    const size_t n = values.size();
    for_output_chunks(c, [&](size_t begin, size_t end) {
      if (n == 1) {
        const T value = T(values[0]);
        for (size_t i = begin; i < end; ++i) y[i] = chosen(x[i]) ? value : x[i];
        return;
      }
      // Few features are repeated, so that the loop over them is long.
      constexpr size_t kMost = 64, kFew = 16;
      T repeated[kMost + kFew];
      const size_t period = n < kFew ? ceil_div(kMost, n) * n : n;
      for (size_t i = 0; n < kFew && i < period; ++i) repeated[i] = T(values[i % n]);
      for (size_t i = begin, step; i < end; i += step) {
        const size_t feature = i % period;
        step = std::min(period - feature, end - i);
        const auto all = [&](const auto* value) {
          for (size_t j = 0; j < step; ++j) y[i + j] = chosen(x[i + j]) ? T(value[j]) : x[i + j];
        };
        n < kFew ? all(repeated + feature) : all(values.data() + feature);
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
