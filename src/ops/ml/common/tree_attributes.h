// The attributes of TreeEnsembleRegressor and TreeEnsembleClassifier: one list per property, with one entry per node,
// and lists with one entry per weight of a leaf.
#pragma once
#include <string>
#include <vector>

#include "ops/ml/common/features.h"
#include "ops/ml/common/post_transform.h"
#include "ops/ml/common/tree_ensemble.h"
#include "ops/op.h"

namespace retort::ops {

struct TreeAttributes {
  std::vector<int64_t> tree_ids, node_ids, feature_ids, true_ids, false_ids, missing_true;
  std::vector<std::string> modes;
  std::vector<float> values, hit_rates, base_values;
  std::optional<Tensor> values_tensor, hit_rates_tensor, base_values_tensor;
  std::string transform = "NONE";
  static constexpr std::tuple tree_attributes{attr("nodes_treeids", &TreeAttributes::tree_ids),
                                              attr("nodes_nodeids", &TreeAttributes::node_ids),
                                              attr("nodes_featureids", &TreeAttributes::feature_ids),
                                              attr("nodes_truenodeids", &TreeAttributes::true_ids),
                                              attr("nodes_falsenodeids", &TreeAttributes::false_ids),
                                              attr("nodes_missing_value_tracks_true", &TreeAttributes::missing_true),
                                              attr("nodes_modes", &TreeAttributes::modes),
                                              attr("nodes_values", &TreeAttributes::values),
                                              attr("nodes_values_as_tensor", &TreeAttributes::values_tensor),
                                              attr("nodes_hitrates", &TreeAttributes::hit_rates),
                                              attr("nodes_hitrates_as_tensor", &TreeAttributes::hit_rates_tensor),
                                              attr("base_values", &TreeAttributes::base_values),
                                              attr("base_values_as_tensor", &TreeAttributes::base_values_tensor),
                                              attr("post_transform", &TreeAttributes::transform)};

  /// The weights of leaves, as they are listed in the operator's own attributes.
  struct Weights {
    const std::vector<int64_t>&tree_ids, &node_ids, &targets;
    std::vector<double> values;
  };
  /// Throws invalid_graph if lists differ in length or refer to nodes that do not exist.
  TreeTables tables(const Weights& weights, int64_t targets) const;
  std::vector<double> bases() const;

 private:
  void check_lengths(const Weights& weights, size_t thresholds) const;
};

/// A list of floats, or the tensor of floats or doubles that may replace it.
std::vector<double> numbers_of(const std::vector<float>& list, const std::optional<Tensor>& tensor);

/// The ensembles for features compared as float and as double; the second exists only if the operator's input is
/// double.
struct TreeState : State {
  std::optional<TreeEnsemble<float>> single;
  std::optional<TreeEnsemble<double>> wide;
  TreeState(const TreeTables& tables, DType x);
};

/// The number of rows of X, [N, features] or, for one row, [features]; throws invalid_argument for other ranks.
Dim tree_rows(InferContext& c);
/// Bytes of scratch memory that evaluate_trees() needs.
size_t tree_scratch(const RunContext& c, size_t targets);

/// Number of rows per block, a multiple of the lanes of a walk. A batch that would be one block is divided into four,
/// for several threads, but not below what waking them is worth: a row takes 5 to 12 ns in a tree. Larger
/// batches keep large blocks, since trees are read again for each: blocks of 8 rows took 1.1 times as long as one of 64.
inline size_t tree_block_rows(size_t rows, size_t trees) {
  const size_t shared = round_up(rows / 4, 8), worth = round_up((2 << 10) / std::max<size_t>(trees, 1), 8);
  return std::clamp<size_t>(std::max(shared, worth), 8, FeatureBlocks<>::kRows);
}

/// Calls block(first row, rows, scores, spoken) for all rows of input 0, on all threads, with the results of
/// TreeEnsemble::evaluate() in scratch memory that the block may change. Throws invalid_argument if X has too few
/// columns.
template <class Block>
void evaluate_trees(const RunContext& c, const TreeState& state, Aggregate aggregate, const Block& block) {
  const auto all = [&]<typename T>(const TreeEnsemble<T>& ensemble) {
    const FeatureBlocks<T> x(c, tree_block_rows(FeatureBlocks<T>(c).rows, ensemble.trees()));
    require(x.columns >= ensemble.features(), ErrorCode::invalid_argument,
            "X has shape {}, but the trees use {} features", c.shape(0), ensemble.features());
    const size_t n = ensemble.targets();
    T* scores = static_cast<T*>(c.scratch());
    T* space = scores + x.rows * n;
    bool* spoken = reinterpret_cast<bool*>(space + size_t(c.parallel().workers()) * x.scratch(c));
    x.for_each(c, space, x.scratch(c), [&](size_t first, size_t count, const T* features, T*) {
      ensemble.evaluate(features, count, x.columns, aggregate, scores + first * n, spoken + first * n);
      block(first, count, scores + first * n, spoken + first * n);
    });
  };
  c.dtype(0) == DType::f64 ? all(*state.wide) : all(*state.single);
}

}  // namespace retort::ops
