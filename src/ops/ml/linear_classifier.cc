// LinearClassifier: the products of a row with the coefficients of each class, plus the intercepts; the class with the
// largest is the label. With one score for two labels, or for none (0 and 1), the second is chosen if it is above zero.
//
// As in ONNX Runtime, but unlike ONNX, there is one intercept for each score, and the label is chosen before
// post_transform. For one score s and two labels the scores are 1 - s and s, or with LOGISTIC the values at -s and s.
#include <algorithm>

#include "ops/ml/common/class_labels.h"
#include "ops/ml/common/features.h"
#include "ops/ml/common/packed_vectors.h"
#include "ops/ml/common/post_transform.h"

namespace retort::ops {
namespace {

struct LinearClassifier : ClassLabels {
  std::vector<float> coefficients, intercepts;
  std::string transform = "NONE";
  int64_t multi_class = 0;  // has no effect: post_transform determines it
  static constexpr auto attributes =
      std::tuple_cat(label_attributes, std::tuple{required("coefficients", &LinearClassifier::coefficients),
                                                  attr("intercepts", &LinearClassifier::intercepts),
                                                  attr("post_transform", &LinearClassifier::transform),
                                                  attr("multi_class", &LinearClassifier::multi_class)});

  void check() const {
    require(int_labels.empty() || string_labels.empty(), ErrorCode::invalid_graph,
            "classlabels_ints and classlabels_strings are both given, expected one of them");
    require(!intercepts.empty() && !coefficients.empty() && coefficients.size() % intercepts.size() == 0,
            ErrorCode::invalid_argument, "{} coefficients, {} intercepts: expected one intercept for each class",
            coefficients.size(), intercepts.size());
    require(intercepts.size() == 1 ? label_count() == 2 || label_count() == 0 : label_count() >= intercepts.size(),
            ErrorCode::invalid_argument, "there are {} labels for {} intercepts", label_count(), intercepts.size());
    post_transform(transform);
  }
  size_t features() const { return coefficients.size() / intercepts.size(); }
  bool has_second() const { return intercepts.size() == 1 && label_count() == 2; }
  size_t scores() const { return has_second() ? 2 : intercepts.size(); }

  void infer(InferContext& c) const { infer_labels(c, features(), scores()); }
  Cost cost(const CostContext& c) const {
    return {.multiply_adds = per(c.count(0), c.extent(0, -1)) * double(coefficients.size())};
  }

  struct Packed : State {
    explicit Packed(const LinearClassifier& op)
        : vectors(op.coefficients.data(), op.intercepts.size(), op.features()) {}
    PackedVectors vectors;
  };
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Packed>(*this); }
  size_t scratch(const RunContext& c) const { return size_t(c.parallel().workers()) * each(c) * sizeof(float); }

  template <typename T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const size_t n = intercepts.size(), k = features(), rows = x.size() / k;
    std::vector<float> z(scores());
    for (size_t r = 0; r < rows; ++r) {
      for (size_t j = 0; j < n; ++j) {
        double sum = intercepts[j];
        for (size_t f = 0; f < k; ++f) sum += double(float(x[r * k + f])) * coefficients[j * k + f];
        z[z.size() - n + j] = float(sum);
      }
      finish(c, r, 1, z.data());
      if (c.wants(1)) std::ranges::copy(z, c.output<float>(1).begin() + ptrdiff_t(r * z.size()));
    }
  }
  template <Feature T>
  void fast(RunContext& c, std::type_identity<T>) const {
    const std::optional<Packed> own = c.state<Packed>() ? std::nullopt : std::optional<Packed>(*this);
    const PackedVectors& packed = own ? own->vectors : c.state<Packed>()->vectors;
    FeatureBlocks(c).for_each(c, static_cast<float*>(c.scratch()), each(c),
                              [&](size_t first, size_t count, const float* x, float* space) {
                                float* z = c.wants(1) ? c.output<float>(1).data() + first * scores() : space;
                                packed.multiply(x, count, intercepts.data(), z + has_second(), scores());
                                finish(c, first, count, z);
                              });
  }

 private:
  /// Floats of scratch for each worker: converted rows, and scores if that output is omitted.
  size_t each(const RunContext& c) const {
    return FeatureBlocks(c).scratch(c) + (c.wants(1) ? 0 : FeatureBlocks<>::kRows * scores());
  }
  /// Writes labels and scores of rows from `first` on. z is [count, scores()]; if has_second() is true, the first score
  /// is still missing.
  void finish(const RunContext& c, size_t first, size_t count, float* z) const {
    const size_t n = scores();
    for (size_t r = 0; r < count; ++r) {
      const float* s = z + r * n;
      store_label(c, first + r, intercepts.size() == 1 ? s[n - 1] > 0 : size_t(std::max_element(s, s + n) - s));
    }
    const PostTransform last = post_transform(transform);
    if (has_second()) return add_second_scores(last, SecondScore::one_minus, z, count);
    apply_rows(last, z, count, n);
  }
};

}  // namespace

extern const OpDef op_linear_classifier;
constinit const OpDef op_linear_classifier = define<LinearClassifier>({
    .name = "LinearClassifier",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: L", "Z: float"},
    .types = kFeatureTypes,
});

}  // namespace retort::ops
