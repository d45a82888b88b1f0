// The attributes of TreeEnsembleRegressor and TreeEnsembleClassifier: one list per property, one entry per node, and
// one entry per weight of a leaf.
#pragma once
#include <string>
#include <vector>

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

  /// The weights of leaves, as the operator's own attributes list them.
  struct Weights {
    const std::vector<int64_t>&tree_ids, &node_ids, &targets;
    std::vector<double> values;
  };
  /// Throws invalid_graph when lists differ in length or name nodes that are not there.
  TreeTables tables(const Weights& weights, int64_t targets) const;
  std::vector<double> bases() const;
};

/// A list of floats, or the tensor of floats or doubles that may stand in its place.
std::vector<double> numbers_of(const std::vector<float>& list, const std::optional<Tensor>& tensor);

/// The ensembles for features compared as float and as double; the second only where the operator's input is double.
struct TreeState : State {
  std::optional<TreeEnsemble<float>> single;
  std::optional<TreeEnsemble<double>> wide;
  TreeState(const TreeTables& tables, DType x);
};

/// Rows of X [N, features], or of one row without N.
inline size_t tree_rows(const Shape& x) { return x.rank() == 1 ? 1 : size_t(x[0]); }
/// Scratch memory that evaluate_trees() needs.
inline size_t tree_scratch(const RunContext& c, size_t targets) {
  return tree_rows(c.shape(0)) * targets * (sizeof(double) + sizeof(bool));
}

/// Calls block(first row, rows, scores, spoken) for all rows of input 0, on all threads: what the trees say, as
/// TreeEnsemble::evaluate() gives it, in scratch memory that the block may change. Throws invalid_argument when X has
/// too few columns or not rank 1 or 2.
template <class Block>
void evaluate_trees(const RunContext& c, const TreeState& state, Aggregate aggregate, const Block& block) {
  const Shape& x = c.shape(0);
  require(x.rank() >= 1 && x.rank() <= 2, ErrorCode::invalid_argument, "X has shape {}, expected [N, features]",
          to_string(x));
  const size_t columns = size_t(x.back()), rows = tree_rows(x);
  const auto all = [&]<typename From, typename T>(const TreeEnsemble<T>& ensemble, std::type_identity<From>) {
    require(columns >= ensemble.features(), ErrorCode::invalid_argument,
            "X has shape {}, the trees ask for {} features", to_string(x), ensemble.features());
    const size_t n = ensemble.targets();
    T* scores = static_cast<T*>(c.scratch());
    bool* spoken = reinterpret_cast<bool*>(scores + rows * n);
    for_row_blocks(rows, c.parallel(), [&](size_t first, size_t count) {
      const From* from = static_cast<const From*>(c.data(0)) + first * columns;
      const auto evaluate = [&](const T* features) {
        ensemble.evaluate(features, count, columns, aggregate, scores + first * n, spoken + first * n);
      };
      if constexpr (std::same_as<From, T>) {
        evaluate(from);
      } else {
        evaluate(std::vector<T>(from, from + count * columns).data());
      }
      block(first, count, scores + first * n, spoken + first * n);
    });
  };
  switch (c.dtype(0)) {
    case DType::f64:
      return all(*state.wide, std::type_identity<double>{});
    case DType::i64:
      return all(*state.single, std::type_identity<int64_t>{});
    case DType::i32:
      return all(*state.single, std::type_identity<int32_t>{});
    case DType::f16:
      return all(*state.single, std::type_identity<float16>{});
    default:
      return all(*state.single, std::type_identity<float>{});
  }
}

}  // namespace retort::ops
