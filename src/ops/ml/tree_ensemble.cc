// TreeEnsemble: decision trees over the rows of X, as lists of splits and of leaves. A split may also test whether a
// feature is a member of a set.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/ml/common/tree_attributes.h"

namespace retort::ops {
namespace {

struct TreeEnsembleOp {
  int64_t aggregate = 1, transform = 0, targets = 1;
  std::vector<int64_t> roots, feature_ids, true_ids, false_ids, true_leaves, false_leaves, missing_true, leaf_targets;
  Tensor modes, splits, leaf_weights;
  std::optional<Tensor> members, hit_rates;
  static constexpr std::tuple attributes{attr("aggregate_function", &TreeEnsembleOp::aggregate),
                                         attr("post_transform", &TreeEnsembleOp::transform),
                                         attr("n_targets", &TreeEnsembleOp::targets),
                                         required("tree_roots", &TreeEnsembleOp::roots),
                                         required("nodes_featureids", &TreeEnsembleOp::feature_ids),
                                         required("nodes_truenodeids", &TreeEnsembleOp::true_ids),
                                         required("nodes_falsenodeids", &TreeEnsembleOp::false_ids),
                                         required("nodes_trueleafs", &TreeEnsembleOp::true_leaves),
                                         required("nodes_falseleafs", &TreeEnsembleOp::false_leaves),
                                         attr("nodes_missing_value_tracks_true", &TreeEnsembleOp::missing_true),
                                         required("leaf_targetids", &TreeEnsembleOp::leaf_targets),
                                         required("nodes_modes", &TreeEnsembleOp::modes),
                                         required("nodes_splits", &TreeEnsembleOp::splits),
                                         required("leaf_weights", &TreeEnsembleOp::leaf_weights),
                                         attr("membership_values", &TreeEnsembleOp::members),
                                         attr("nodes_hitrates", &TreeEnsembleOp::hit_rates)};

  void check() const {
    require(targets > 0, ErrorCode::invalid_graph, "n_targets is {}", targets);
    require(aggregate >= 0 && aggregate <= 3, ErrorCode::invalid_graph, "aggregate_function is {}, expected 0 to 3",
            aggregate);
    require(transform >= 0 && transform <= 4, ErrorCode::invalid_graph, "post_transform is {}, expected 0 to 4",
            transform);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), {tree_rows(c), Dim(targets)});
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    return std::make_unique<TreeState>(trees(c.type(0).dtype));
  }
  size_t scratch(const RunContext& c) const { return tree_scratch(c, size_t(targets)); }
  void run(RunContext& c) const {
    if (const auto* state = c.state<TreeState>()) return evaluate(c, *state);
    evaluate(c, trees(c.dtype(0)));
  }

 private:
  // Sets of members are stored in the order of the splits that use them, each terminated by NaN.
  TreeState trees(DType x) const {
    const std::vector<double> values = numbers_of({}, splits), weights = numbers_of({}, leaf_weights);
    const std::vector<double> sets = members ? numbers_of({}, *members) : std::vector<double>();
    const size_t n = feature_ids.size();
    require(modes.dtype() == DType::u8, ErrorCode::invalid_graph, "nodes_modes has type {}, expected uint8",
            dtype_name(modes.dtype()));
    for (const size_t size : {true_ids.size(), false_ids.size(), true_leaves.size(), false_leaves.size(), values.size(),
                              modes.count(), missing_true.empty() ? n : missing_true.size()}) {
      require(size == n, ErrorCode::invalid_graph, "a list of nodes has {} entries, nodes_featureids has {}", size, n);
    }
    require(weights.size() == leaf_targets.size(), ErrorCode::invalid_graph,
            "there are {} leaf_weights for {} leaf_targetids", weights.size(), leaf_targets.size());
    require(sets.size() < UINT32_MAX && weights.size() < UINT32_MAX, ErrorCode::invalid_graph, "too many tree nodes");
    TreeTables t{.targets = targets};
    size_t next = 0;
    for (size_t i = 0; i < n; ++i) {
      const uint8_t mode = modes.data<uint8_t>()[i];
      require(mode <= uint8_t(Branch::member), ErrorCode::invalid_graph, "nodes_modes contains {}, expected 0 to 6",
              mode);
      TreeTables::Split split{Branch(mode), feature_ids[i], values[i], !missing_true.empty() && missing_true[i] != 0};
      require(true_ids[i] >= 0 && false_ids[i] >= 0, ErrorCode::invalid_graph, "node {} leads to {} and {}", i,
              true_ids[i], false_ids[i]);
      split.yes = true_leaves[i] ? ~true_ids[i] : true_ids[i];
      split.no = false_leaves[i] ? ~false_ids[i] : false_ids[i];
      if (split.mode == Branch::member) {
        split.first = uint32_t(t.members.size());
        for (; next < sets.size() && !std::isnan(sets[next]); ++next) t.members.push_back(sets[next]);
        split.last = uint32_t(t.members.size());
        ++next;
      }
      t.splits.push_back(split);
    }
    for (size_t i = 0; i < weights.size(); ++i) {
      t.weights.push_back({leaf_targets[i], weights[i]});
      t.leaf_ends.push_back(uint32_t(i + 1));
    }
    for (const int64_t root : roots) {
      require(root >= 0, ErrorCode::invalid_graph, "tree_roots contains {}", root);
      t.roots.push_back(root);
    }
    return {t, x};
  }

  void evaluate(RunContext& c, const TreeState& state) const {
    const auto n = size_t(targets);
    evaluate_trees(c, state, Aggregate(aggregate), [&]<typename T>(size_t first, size_t count, T* scores, const bool*) {
      for (size_t r = 0; r < count; ++r) apply(PostTransform(transform), std::span(scores + r * n, n));
      const auto store = [&]<typename Y>(Y* y) {
        for (size_t i = 0; i < count * n; ++i) y[first * n + i] = Y(scores[i]);
      };
      if (c.out_dtype() == DType::f16) return store(c.output<float16>().data());
      store(c.output<T>().data());
    });
  }
};

}  // namespace

extern const OpDef op_tree_ensemble;
constinit const OpDef op_tree_ensemble = define<TreeEnsembleOp>({
    .name = "TreeEnsemble",
    .domain = "ai.onnx.ml",
    .since = {5},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f32, DType::f64, DType::f16}),
});

}  // namespace retort::ops
