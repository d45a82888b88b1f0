// TreeEnsembleRegressor: the weights that decision trees give for each row of X, aggregated for each target.
#include "ops/ml/common/tree_attributes.h"

namespace retort::ops {
namespace {

struct TreeEnsembleRegressor : TreeAttributes {
  int64_t targets = 1;
  std::string aggregate = "SUM";
  std::vector<int64_t> target_trees, target_nodes, target_ids;
  std::vector<float> target_weights;
  std::optional<Tensor> target_weights_tensor;
  static constexpr auto attributes = std::tuple_cat(
      tree_attributes, std::tuple{attr("n_targets", &TreeEnsembleRegressor::targets),
                                  attr("aggregate_function", &TreeEnsembleRegressor::aggregate),
                                  attr("target_treeids", &TreeEnsembleRegressor::target_trees),
                                  attr("target_nodeids", &TreeEnsembleRegressor::target_nodes),
                                  attr("target_ids", &TreeEnsembleRegressor::target_ids),
                                  attr("target_weights", &TreeEnsembleRegressor::target_weights),
                                  attr("target_weights_as_tensor", &TreeEnsembleRegressor::target_weights_tensor)});

  void check() const {
    require(targets > 0, ErrorCode::invalid_graph, "n_targets is {}", targets);
    const size_t bases_given = bases().size();
    require(bases_given == 0 || bases_given == size_t(targets), ErrorCode::invalid_graph,
            "base_values has {} entries for {} targets", bases_given, targets);
    function();
    post_transform(transform);
  }
  Aggregate function() const {
    constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    const auto* found = std::ranges::find(kNames, aggregate);
    require(found != std::end(kNames), ErrorCode::invalid_graph,
            "aggregate_function \"{}\" is not one of AVERAGE, SUM, MIN, MAX", aggregate);
    return Aggregate(found - std::begin(kNames));
  }

  void infer(InferContext& c) const {
    c.set(0, DType::f32);
    c.set(0, DType::f32, {tree_rows(c), Dim(targets)});
  }

  struct Trees : TreeState {
    Trees(const TreeTables& tables, DType x, std::vector<double> b) : TreeState(tables, x), bases(std::move(b)) {}
    std::vector<double> bases;
  };
  Trees trees(DType x) const {
    const Weights weights{target_trees, target_nodes, target_ids, numbers_of(target_weights, target_weights_tensor)};
    return {tables(weights, targets), x, bases()};
  }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return std::make_unique<Trees>(trees(c.type(0).dtype)); }
  size_t scratch(const RunContext& c) const { return tree_scratch(c, size_t(targets)); }

  void run(RunContext& c) const {
    if (const auto* state = c.state<Trees>()) return evaluate(c, *state);
    evaluate(c, trees(c.dtype(0)));
  }

 private:
  void evaluate(RunContext& c, const Trees& trees) const {
    const PostTransform last = post_transform(transform);
    const auto n = size_t(targets);
    evaluate_trees(c, trees, function(), [&]<typename T>(size_t first, size_t count, const T* scores, const bool*) {
      float* y = c.output<float>().data() + first * n;
      for (size_t i = 0; i < count * n; ++i)
        y[i] = float(scores[i] + (trees.bases.empty() ? T(0) : T(trees.bases[i % n])));
      apply_rows(last, y, count, n);
    });
  }
};

}  // namespace

extern const OpDef op_tree_ensemble_regressor;
constinit const OpDef op_tree_ensemble_regressor = define<TreeEnsembleRegressor>({
    .name = "TreeEnsembleRegressor",
    .domain = "ai.onnx.ml",
    .since = {1, 3, 5},
    .inputs = {"X: T"},
    .outputs = {"Y: float"},
    .types = types({DType::f32, DType::f64, DType::i64, DType::i32}),
});

}  // namespace retort::ops
