#include "ops/ml/common/tree_attributes.h"

#include <algorithm>
#include <map>

namespace retort::ops {
namespace {

Branch branch_of(const std::string& mode) {
  constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  const auto* found = std::ranges::find(kNames, mode);
  require(found != std::end(kNames), ErrorCode::invalid_graph, "nodes_modes holds \"{}\"", mode);
  return Branch(found - std::begin(kNames));
}

void expect_size(size_t size, size_t wanted, std::string_view name) {
  require(size == wanted, ErrorCode::invalid_graph, "{} has {} entries, nodes_nodeids has {}", name, size, wanted);
}

using Id = std::pair<int64_t, int64_t>;  // tree, node

}  // namespace

std::vector<double> numbers_of(const std::vector<float>& list, const std::optional<Tensor>& tensor) {
  if (!tensor) return {list.begin(), list.end()};
  if (tensor->dtype() == DType::f64) return {tensor->data<double>(), tensor->data<double>() + tensor->count()};
  if (tensor->dtype() == DType::f16) {
    std::vector<double> wide;
    for (size_t i = 0; i < tensor->count(); ++i) wide.push_back(float(tensor->data<float16>()[i]));
    return wide;
  }
  require(tensor->dtype() == DType::f32, ErrorCode::invalid_graph,
          "a tensor of numbers has type {}, expected a float type", dtype_name(tensor->dtype()));
  return {tensor->data<float>(), tensor->data<float>() + tensor->count()};
}

std::vector<double> TreeAttributes::bases() const { return numbers_of(base_values, base_values_tensor); }

TreeTables TreeAttributes::tables(const Weights& weights, int64_t targets) const {
  const size_t n = node_ids.size();
  const std::vector<double> thresholds = numbers_of(values, values_tensor);
  expect_size(tree_ids.size(), n, "nodes_treeids");
  expect_size(feature_ids.size(), n, "nodes_featureids");
  expect_size(true_ids.size(), n, "nodes_truenodeids");
  expect_size(false_ids.size(), n, "nodes_falsenodeids");
  expect_size(modes.size(), n, "nodes_modes");
  expect_size(thresholds.size(), n, "nodes_values");
  if (!missing_true.empty()) expect_size(missing_true.size(), n, "nodes_missing_value_tracks_true");
  const size_t spoken = weights.node_ids.size();
  require(weights.tree_ids.size() == spoken && weights.targets.size() == spoken && weights.values.size() == spoken,
          ErrorCode::invalid_graph, "the lists of weights have {}, {}, {} and {} entries", weights.tree_ids.size(),
          spoken, weights.targets.size(), weights.values.size());

  TreeTables t{.targets = targets};
  std::map<Id, TreeTables::Child> children;
  for (size_t i = 0; i < n; ++i) {
    const bool leaf = modes[i] == "LEAF";
    const auto child = leaf ? ~TreeTables::Child(t.leaves.size()) : TreeTables::Child(t.splits.size());
    require(children.emplace(Id{tree_ids[i], node_ids[i]}, child).second, ErrorCode::invalid_graph,
            "tree {} has two nodes {}", tree_ids[i], node_ids[i]);
    if (leaf) {
      t.leaves.emplace_back();
    } else {
      t.splits.push_back({.mode = branch_of(modes[i]),
                          .feature = feature_ids[i],
                          .value = thresholds[i],
                          .missing_is_true = !missing_true.empty() && missing_true[i] != 0});
    }
  }
  std::map<Id, bool> has_parent;
  for (size_t i = 0; i < n; ++i) {
    const TreeTables::Child self = children.at({tree_ids[i], node_ids[i]});
    if (self < 0) continue;
    const auto child = [&](int64_t id) {
      const auto found = children.find({tree_ids[i], id});
      require(found != children.end(), ErrorCode::invalid_graph,
              "node {} of tree {} leads to node {}, which is not there", node_ids[i], tree_ids[i], id);
      has_parent[found->first] = true;
      return found->second;
    };
    t.splits[size_t(self)].yes = child(true_ids[i]);
    t.splits[size_t(self)].no = child(false_ids[i]);
  }
  for (size_t i = 0; i < n; ++i) {
    const Id id{tree_ids[i], node_ids[i]};
    if (!has_parent.contains(id)) t.roots.push_back(children.at(id));
  }
  for (size_t i = 0; i < spoken; ++i) {
    const auto found = children.find({weights.tree_ids[i], weights.node_ids[i]});
    require(found != children.end(), ErrorCode::invalid_graph,
            "a weight is given to node {} of tree {}, which is not there", weights.node_ids[i], weights.tree_ids[i]);
    if (found->second < 0) t.leaves[size_t(~found->second)].push_back({weights.targets[i], weights.values[i]});
  }
  return t;
}

TreeState::TreeState(const TreeTables& tables, DType x) {
  if (x == DType::f64)
    wide.emplace(tables);
  else
    single.emplace(tables);
}

Dim tree_rows(InferContext& c) {
  const Shape& x = c.shape(0);
  require(x.rank() == 1 || x.rank() == 2, ErrorCode::invalid_argument, "X has shape {}, expected [N, features]",
          c.dims().text(x));
  return x.rank() == 1 ? 1 : x[0];
}

size_t tree_scratch(const RunContext& c, size_t targets) {
  const auto bytes = [&]<typename T>(const FeatureBlocks<T>& x) {
    return x.rows * targets * (sizeof(T) + sizeof(bool)) + size_t(c.parallel().workers()) * x.scratch(c) * sizeof(T);
  };
  return c.dtype(0) == DType::f64 ? bytes(FeatureBlocks<double>(c)) : bytes(FeatureBlocks<float>(c));
}

}  // namespace retort::ops
