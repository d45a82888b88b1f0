#include "ops/ml/common/tree_attributes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

namespace retort::ops {
namespace {

Branch branch_of(const std::string& mode) {
  constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  const auto* found = std::ranges::find(kNames, mode);
  require(found != std::end(kNames), ErrorCode::invalid_graph, "nodes_modes contains \"{}\"", mode);
  return Branch(found - std::begin(kNames));
}

void expect_size(size_t size, size_t wanted, std::string_view name) {
  require(size == wanted, ErrorCode::invalid_graph, "{} has {} entries, nodes_nodeids has {}", name, size, wanted);
}

using Id = std::pair<int64_t, int64_t>;  // tree id, node id

// The index of each node in the lists. Models list the nodes of a tree together and number them in that order, so most
// are found without a search.
class NodeIndex {
 public:
  NodeIndex(const std::vector<int64_t>& trees, const std::vector<int64_t>& nodes) : trees_(trees), nodes_(nodes) {
    order_.resize(nodes.size());
    std::iota(order_.begin(), order_.end(), 0);
    const auto less = [this](uint32_t a, uint32_t b) { return id(a) < id(b); };
    if (!std::ranges::is_sorted(order_, less)) std::ranges::stable_sort(order_, less);
    const auto twice = std::ranges::adjacent_find(order_, [this](uint32_t a, uint32_t b) { return id(a) == id(b); });
    if (twice != order_.end())
      fail(ErrorCode::invalid_graph, "tree {} has two nodes {}", trees_[*twice], nodes_[*twice]);
  }

  // The index of node `wanted` in the lists; nullopt if there is no such node.
  std::optional<uint32_t> find(Id wanted) {
    if (begin_ == end_ || trees_[order_[begin_]] != wanted.first) select(wanted.first);
    if (begin_ == end_) return std::nullopt;
    const int64_t first = nodes_[order_[begin_]];
    const uint64_t guess = uint64_t(wanted.second) - uint64_t(first);
    if (guess < end_ - begin_ && nodes_[order_[begin_ + guess]] == wanted.second) return order_[begin_ + guess];
    const auto range = std::span(order_).subspan(begin_, end_ - begin_);
    const auto found = std::ranges::lower_bound(range, wanted.second, {}, [this](uint32_t i) { return nodes_[i]; });
    return found != range.end() && nodes_[*found] == wanted.second ? std::optional(*found) : std::nullopt;
  }

 private:
  Id id(uint32_t i) const { return {trees_[i], nodes_[i]}; }
  void select(int64_t tree) {
    const auto same = std::ranges::equal_range(order_, tree, {}, [this](uint32_t i) { return trees_[i]; });
    begin_ = size_t(same.begin() - order_.begin());
    end_ = size_t(same.end() - order_.begin());
  }

  const std::vector<int64_t>&trees_, &nodes_;
  std::vector<uint32_t> order_;  // indices, sorted by tree and node
  size_t begin_ = 0, end_ = 0;   // range of the tree that was requested last
};

// Groups the weights by leaf, in the order of the lists; weights of splits are ignored. `child(i)` is the node that
// weight i belongs to.
template <class ChildOf>
void add_weights(TreeTables& t, const TreeAttributes::Weights& weights, size_t leaves, const ChildOf& child) {
  std::vector<TreeTables::Child> of(weights.node_ids.size());
  std::vector<uint32_t> next(leaves + 1, 0);
  for (size_t i = 0; i < of.size(); ++i) {
    of[i] = child(i);
    if (of[i] < 0) ++next[size_t(~of[i]) + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  t.weights.resize(next.back());
  for (size_t i = 0; i < of.size(); ++i) {
    if (of[i] < 0) t.weights[next[size_t(~of[i])]++] = {weights.targets[i], weights.values[i]};
  }
  next.pop_back();
  t.leaf_ends = std::move(next);
}

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

void TreeAttributes::check_lengths(const Weights& weights, size_t thresholds) const {
  const size_t n = node_ids.size(), spoken = weights.node_ids.size();
  require(n < UINT32_MAX && spoken < UINT32_MAX, ErrorCode::invalid_graph, "too many tree nodes");
  expect_size(tree_ids.size(), n, "nodes_treeids");
  expect_size(feature_ids.size(), n, "nodes_featureids");
  expect_size(true_ids.size(), n, "nodes_truenodeids");
  expect_size(false_ids.size(), n, "nodes_falsenodeids");
  expect_size(modes.size(), n, "nodes_modes");
  expect_size(thresholds, n, "nodes_values");
  if (!missing_true.empty()) expect_size(missing_true.size(), n, "nodes_missing_value_tracks_true");
  require(weights.tree_ids.size() == spoken && weights.targets.size() == spoken && weights.values.size() == spoken,
          ErrorCode::invalid_graph, "the lists of weights have {}, {}, {} and {} entries", weights.tree_ids.size(),
          spoken, weights.targets.size(), weights.values.size());
}

TreeTables TreeAttributes::tables(const Weights& weights, int64_t targets) const {
  const size_t n = node_ids.size();
  const std::vector<double> thresholds = numbers_of(values, values_tensor);
  check_lengths(weights, thresholds.size());
  NodeIndex index(tree_ids, node_ids);
  TreeTables t{.targets = targets};
  std::vector<TreeTables::Child> children(n);
  TreeTables::Child leaves = 0;
  for (size_t i = 0; i < n; ++i) {
    const bool leaf = modes[i] == "LEAF";
    children[i] = leaf ? ~leaves++ : TreeTables::Child(t.splits.size());
    if (leaf) continue;
    t.splits.push_back({.mode = branch_of(modes[i]),
                        .feature = feature_ids[i],
                        .value = thresholds[i],
                        .missing_is_true = !missing_true.empty() && missing_true[i] != 0});
  }
  std::vector<bool> has_parent(n, false);
  for (size_t i = 0; i < n; ++i) {
    if (children[i] < 0) continue;
    const auto child = [&](int64_t id) {
      const auto found = index.find({tree_ids[i], id});
      require(found.has_value(), ErrorCode::invalid_graph, "node {} of tree {} leads to node {}, which does not exist",
              node_ids[i], tree_ids[i], id);
      has_parent[*found] = true;
      return children[*found];
    };
    t.splits[size_t(children[i])].yes = child(true_ids[i]);
    t.splits[size_t(children[i])].no = child(false_ids[i]);
  }
  for (size_t i = 0; i < n; ++i) {
    if (!has_parent[i]) t.roots.push_back(children[i]);
  }
  add_weights(t, weights, size_t(leaves), [&](size_t i) {
    const auto found = index.find({weights.tree_ids[i], weights.node_ids[i]});
    require(found.has_value(), ErrorCode::invalid_graph,
            "a weight is given for node {} of tree {}, which does not exist", weights.node_ids[i], weights.tree_ids[i]);
    return children[*found];
  });
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
