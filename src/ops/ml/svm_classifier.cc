// SVMClassifier: for each pair of classes i < j, a score from the kernel values of a row and the support vectors of
// both; it votes for i if it is above zero, otherwise for j. The class with most votes is the label. prob_a and prob_b
// turn the scores into probabilities of classes. Without support vectors each class has a linear score, and the largest
// determines the label.
//
// As in ONNX Runtime, where ONNX does not specify it: more than two classes without probabilities return the scores of
// all pairs; two classes return -s and s, or 1 - s and s with a post_transform (see add_second_scores); of two linear
// scores the second class is chosen if the larger is above zero, or at least 0.5 if no coefficient is negative.
#include <algorithm>

#include "base/checked.h"
#include "ops/ml/common/class_labels.h"
#include "ops/ml/common/svm.h"

namespace retort::ops {
namespace {

struct SvmClassifier : ClassLabels, SvmAttributes {
  std::vector<int64_t> vectors_per_class;
  std::vector<float> prob_a, prob_b;
  static constexpr auto attributes =
      std::tuple_cat(label_attributes, svm_attributes,
                     std::tuple{attr("vectors_per_class", &SvmClassifier::vectors_per_class),
                                attr("prob_a", &SvmClassifier::prob_a), attr("prob_b", &SvmClassifier::prob_b)});

  size_t classes() const { return label_count(); }
  size_t pairs() const { return classes() * (classes() - 1) / 2; }
  size_t supports() const {
    size_t n = 0;
    for (const int64_t count : vectors_per_class) n += size_t(count);
    return n;
  }
  bool has_probabilities() const { return supports() > 0 && !prob_a.empty(); }
  size_t features() const { return supports() ? support_vectors.size() / supports() : coefficients.size() / classes(); }
  size_t scores() const { return supports() == 0 || has_probabilities() ? classes() : classes() > 2 ? pairs() : 2; }

  void check() const {
    constexpr size_t kMostClasses = 65535;
    require(classes() > 0 && classes() <= kMostClasses, ErrorCode::invalid_argument, "there are {} class labels",
            classes());
    int64_t vectors = 0;
    for (const int64_t count : vectors_per_class) {
      require(count >= 0, ErrorCode::invalid_argument, "vectors_per_class holds {}", count);
      vectors = checked_add(vectors, count, "the number of support vectors");
    }
    check_svm(size_t(vectors));
    require(prob_a.size() == prob_b.size(), ErrorCode::invalid_argument, "prob_a has {} numbers, prob_b {}",
            prob_a.size(), prob_b.size());
    if (vectors == 0) {
      require(coefficients.size() >= classes(), ErrorCode::invalid_argument, "{} coefficients for {} classes",
              coefficients.size(), classes());
      return;
    }
    require(vectors_per_class.size() == classes(), ErrorCode::invalid_argument,
            "vectors_per_class has {} entries for {} classes", vectors_per_class.size(), classes());
    require(coefficients.size() / size_t(vectors) >= classes() - 1, ErrorCode::invalid_argument,
            "{} coefficients, expected {} for each of {} support vectors", coefficients.size(), classes() - 1, vectors);
    require(rho.size() >= pairs() && (prob_a.empty() || prob_a.size() >= pairs()), ErrorCode::invalid_argument,
            "rho has {} numbers and prob_a {} for {} pairs of classes", rho.size(), prob_a.size(), pairs());
    require(classes() > 1 || has_probabilities(), ErrorCode::invalid_argument,
            "support vectors of a single class cannot separate classes");
  }

  void infer(InferContext& c) const { infer_labels(c, features(), scores()); }

  struct Model : State {
    explicit Model(const SvmClassifier& op)
        : no_negative(std::ranges::all_of(op.coefficients, [](float w) { return w >= 0; })) {
      if (op.supports()) {
        supports.emplace(op, op.supports());
      } else {
        linear = PackedVectors(op.coefficients.data(), op.classes(), op.features());
        bias.assign(op.classes(), op.rho[0]);
      }
    }
    std::optional<SupportVectors> supports;
    PackedVectors linear;
    std::vector<float> bias;
    bool no_negative;
  };
  std::unique_ptr<State> prepare(PrepareContext&) const { return std::make_unique<Model>(*this); }
  size_t scratch(const RunContext& c) const { return size_t(c.parallel().workers()) * each(c) * sizeof(float); }

  template <typename T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0);
    const Model model(*this);
    std::vector<float> z(scores()), space(row_floats()), values(supports());
    const size_t n = features();
    for (size_t r = 0; r < x.size() / n; ++r) {
      const T* row = x.data() + r * n;
      for (size_t s = 0; s < supports(); ++s) values[s] = float(kernel()(row, support_vectors.data() + s * n, n));
      if (supports() == 0) {
        for (size_t j = 0; j < classes(); ++j)
          z[j] = float(SvmKernel()(row, coefficients.data() + j * n, n) + double(rho[0]));
        store_label(c, r, linear_label(model, z.data()));
      } else {
        sum_supports(values.data(), space.data());
        store_label(c, r, decide(space.data(), z.data()));
      }
      transform_rows(z.data(), 1);
      if (c.wants(1)) std::ranges::copy(z, c.output<float>(1).begin() + ptrdiff_t(r * z.size()));
    }
  }

  template <Feature T>
  void fast(RunContext& c, std::type_identity<T>) const {
    const std::optional<Model> own = c.state<Model>() ? std::nullopt : std::optional<Model>(*this);
    const Model& model = own ? *own : *c.state<Model>();
    blocks(c).for_each(
        c, static_cast<float*>(c.scratch()), each(c), [&](size_t first, size_t count, const float* x, float* space) {
          float* z = c.wants(1) ? c.output<float>(1).data() + first * scores()
                                : space + svm_block_rows(supports()) * supports() + row_floats();
          model.supports ? vote(c, model, first, count, x, space, z) : weigh(c, model, first, count, x, z);
          transform_rows(z, count);
        });
  }

 private:
  FeatureBlocks<> blocks(const RunContext& c) const { return FeatureBlocks(c, svm_block_rows(supports())); }
  /// Floats of scratch for each worker: converted rows, kernel values, the memory of row_floats(), and scores if that
  /// output is omitted.
  size_t each(const RunContext& c) const {
    const size_t rows = svm_block_rows(supports());
    return blocks(c).scratch(c) + rows * supports() + row_floats() + (c.wants(1) ? 0 : rows * scores());
  }
  /// Floats that one row needs: sums of each class against the others, votes, and matrices of probabilities.
  size_t row_floats() const {
    const size_t n = classes();
    return supports() == 0 ? 0 : n * (n - 1) + n + (has_probabilities() ? n * n + n * (n + 1) : 0);
  }

  void weigh(const RunContext& c, const Model& model, size_t first, size_t count, const float* x, float* z) const {
    model.linear.multiply(x, count, model.bias.data(), z, classes());
    for (size_t r = 0; r < count; ++r) store_label(c, first + r, linear_label(model, z + r * classes()));
  }
  size_t linear_label(const Model& model, const float* z) const {
    const float* max = std::max_element(z, z + classes());
    if (classes() == 2 && prob_a.empty() && (model.no_negative ? *max >= 0.5f : *max > 0)) return 1;
    return size_t(max - z);
  }

  void vote(const RunContext& c, const Model& model, size_t first, size_t count, const float* x, float* values,
            float* z) const {
    const size_t n = supports(), rivals = classes() - 1, columns = scores();
    float* space = values + svm_block_rows(n) * n;
    model.supports->kernels(x, count, values);
    for (size_t r = 0; r < count; ++r, values += n) {
      size_t start = 0;
      for (size_t i = 0; i < classes(); start += size_t(vectors_per_class[i++])) {
        kernels::gemv_rows({.n = rivals,
                            .k = size_t(vectors_per_class[i]),
                            .x = values + start,
                            .b = coefficients.data() + start,
                            .b_stride = n,
                            .y = space + i * rivals});
      }
      store_label(c, first + r, decide(space, z + r * columns));
    }
  }
  /// Computes the sums that decide() needs, for the reference.
  void sum_supports(const float* values, float* sums) const {
    const size_t n = supports(), rivals = classes() - 1;
    size_t start = 0;
    for (size_t i = 0; i < classes(); start += size_t(vectors_per_class[i++])) {
      for (size_t j = 0; j < rivals; ++j) {
        double sum = 0;
        for (size_t v = start; v < start + size_t(vectors_per_class[i]); ++v)
          sum += double(coefficients[j * n + v]) * double(values[v]);
        sums[i * rivals + j] = float(sum);
      }
    }
  }

  /// Returns the label of a row and writes its scores before post_transform to z. `space` has row_floats() floats; the
  /// first are the sums of each class's vectors for each other class, [classes, classes - 1].
  size_t decide(float* space, float* z) const {
    const size_t n = classes();
    const bool probable = has_probabilities();
    const float* sums = space;
    float *const votes = space + n * (n - 1), *const r = votes + n;
    std::fill_n(votes, n, 0.0f);
    size_t pair = 0;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i + 1; j < n; ++j, ++pair) {
        const float s = float(double(sums[i * (n - 1) + j - 1]) + double(sums[j * (n - 1) + i]) + double(rho[pair]));
        ++votes[s > 0 ? i : j];
        if (probable) {
          constexpr float kLeast = 1e-7f;
          r[i * n + j] = std::clamp(1 - logistic(s * prob_a[pair] + prob_b[pair]), kLeast, 1 - kLeast);
          r[j * n + i] = 1 - r[i * n + j];
        } else {
          z[n == 2 ? 1 : pair] = s;
        }
      }
    }
    if (probable) couple_probabilities(r, {z, n}, r + n * n);
    return size_t(std::max_element(votes, votes + n) - votes);
  }

  void transform_rows(float* z, size_t rows) const {
    const PostTransform last = post_transform(transform);
    if (supports() == 0 || has_probabilities() || classes() > 2) return apply_rows(last, z, rows, scores());
    add_second_scores(last, last == PostTransform::none ? SecondScore::negative : SecondScore::one_minus, z, rows);
  }
};

}  // namespace

extern const OpDef op_svm_classifier;
constinit const OpDef op_svm_classifier = define<SvmClassifier>({
    .name = "SVMClassifier",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: L", "Z: float"},
    .types = kFeatureTypes,
});

}  // namespace retort::ops
