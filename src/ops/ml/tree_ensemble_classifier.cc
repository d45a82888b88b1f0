// TreeEnsembleClassifier: sums the weights that decision trees give for each row of X into scores of classes, and picks
// one. For two classes ONNX does not define the meaning of scores; they are interpreted as in ONNX Runtime.
#include <algorithm>

#include "ops/ml/common/tree_attributes.h"

namespace retort::ops {
namespace {

struct TreeEnsembleClassifier : TreeAttributes {
  std::vector<int64_t> int_labels, class_trees, class_nodes, class_ids;
  std::vector<std::string> string_labels;
  std::vector<float> class_weights;
  std::optional<Tensor> class_weights_tensor;
  static constexpr auto attributes = std::tuple_cat(
      tree_attributes, std::tuple{attr("classlabels_int64s", &TreeEnsembleClassifier::int_labels),
                                  attr("classlabels_strings", &TreeEnsembleClassifier::string_labels),
                                  attr("class_treeids", &TreeEnsembleClassifier::class_trees),
                                  attr("class_nodeids", &TreeEnsembleClassifier::class_nodes),
                                  attr("class_ids", &TreeEnsembleClassifier::class_ids),
                                  attr("class_weights", &TreeEnsembleClassifier::class_weights),
                                  attr("class_weights_as_tensor", &TreeEnsembleClassifier::class_weights_tensor)});

  size_t classes() const { return int_labels.size() + string_labels.size(); }

  void check() const {
    require(int_labels.empty() != string_labels.empty(), ErrorCode::invalid_graph,
            "exactly one of classlabels_int64s and classlabels_strings is needed");
    const size_t given = bases().size();
    require(given == 0 || given == classes() || (given == 1 && classes() == 2), ErrorCode::invalid_graph,
            "base_values has {} entries for {} classes", given, classes());
    post_transform(transform);
  }

  void infer(InferContext& c) const {
    const DType label = int_labels.empty() ? DType::string : DType::i64;
    if (c.wants(0)) c.set(0, label);
    if (c.wants(1)) c.set(1, DType::f32);
    const Dim rows = tree_rows(c);
    if (c.wants(0)) c.set(0, label, {rows});
    if (c.wants(1)) c.set(1, DType::f32, {rows, Dim(classes())});
  }

  // Converts a row's scores to a class and probabilities.
  struct Rule {
    std::vector<double> bases;
    PostTransform transform;
    bool binary;    // two classes, of which the trees weight only one
    bool positive;  // no weight is below zero
  };
  struct Trees : TreeState {
    Trees(const TreeTables& tables, DType x, Rule r) : TreeState(tables, x), rule(std::move(r)) {}
    Rule rule;
  };

  Trees trees(DType x) const {
    const Weights weights{class_trees, class_nodes, class_ids, numbers_of(class_weights, class_weights_tensor)};
    const bool one = !class_ids.empty() && std::ranges::count(class_ids, class_ids[0]) == ptrdiff_t(class_ids.size());
    return {tables(weights, int64_t(classes())),
            x,
            {bases(), post_transform(transform), classes() == 2 && one,
             std::ranges::none_of(weights.values, [](double w) { return w < 0; })}};
  }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return std::make_unique<Trees>(trees(c.type(0).dtype)); }
  size_t scratch(const RunContext& c) const { return tree_scratch(c, classes()); }

  void run(RunContext& c) const {
    if (const auto* state = c.state<Trees>()) return evaluate(c, *state);
    evaluate(c, trees(c.dtype(0)));
  }

 private:
  void evaluate(RunContext& c, const Trees& trees) const {
    const size_t n = classes();
    evaluate_trees(c, trees, Aggregate::sum,
                   [&]<typename T>(size_t first, size_t count, T* scores, const bool* spoken) {
                     for (size_t r = 0; r < count; ++r) {
                       const std::span<T> s(scores + r * n, n);
                       const std::span<const bool> has(spoken + r * n, n);
                       store(c, first + r, n == 2 ? decide_two(trees.rule, s, has) : decide_many(trees.rule, s, has));
                       if (c.wants(1))
                         std::copy(s.begin(), s.end(), c.output<float>(1).begin() + ptrdiff_t((first + r) * n));
                     }
                   });
  }

  void store(RunContext& c, size_t row, size_t label) const {
    if (!c.wants(0)) return;
    if (int_labels.empty()) {
      c.output<std::string>(0)[row] = string_labels[classes() == 1 ? 0 : label];
    } else {
      c.output<int64_t>(0)[row] = classes() == 1 ? int64_t(label) : int_labels[label];
    }
  }

  // The class with the largest score; with one class, whether its score is above zero.
  template <typename T>
  static size_t decide_many(const Rule& how, std::span<T> s, std::span<const bool> spoken) {
    for (size_t i = 0; i < how.bases.size(); ++i) s[i] += T(how.bases[i]);
    if (s.size() == 1) return s[0] > 0;
    size_t best = s.size();
    for (size_t i = 0; i < s.size(); ++i)
      if ((spoken[i] || !how.bases.empty()) && (best == s.size() || s[i] > s[best])) best = i;
    apply(how.transform, s);
    return best == s.size() ? 0 : best;
  }

  // If the second class has no score, the first one's is that of the second against all.
  template <typename T>
  static size_t decide_two(const Rule& how, std::span<T> s, std::span<const bool> spoken) {
    const bool both = spoken[1] || how.bases.size() == 2;
    if (how.bases.size() == 2 && spoken[1]) {
      s[1] = T(how.bases[1]) + s[0];
      s[0] = spoken[0] ? -s[1] : 0;
    } else if (!how.bases.empty() && spoken[0]) {
      s[0] += T(how.bases[0]);
    }
    const T against = spoken[1] ? s[1] : s[0];
    const size_t label = against > (how.binary && how.positive ? T(0.5) : T(0));
    if (both) {
      apply(how.transform, s);
    } else if (how.transform == PostTransform::logistic) {
      s[1] = logistic(s[0]);
      s[0] = logistic(-s[0]);
    } else {
      s[1] = s[0];
      s[0] = how.binary && how.positive ? 1 - s[0] : -s[0];
    }
    return label;
  }
};

}  // namespace

extern const OpDef op_tree_ensemble_classifier;
constinit const OpDef op_tree_ensemble_classifier = define<TreeEnsembleClassifier>({
    .name = "TreeEnsembleClassifier",
    .domain = "ai.onnx.ml",
    .since = {1, 3, 5},
    .inputs = {"X: T"},
    .outputs = {"Y: L", "Z: float"},
    .types = types({DType::f32, DType::f64, DType::i64, DType::i32}),
});

}  // namespace retort::ops
