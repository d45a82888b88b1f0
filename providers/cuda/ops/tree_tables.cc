#include "tree_tables.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace providers::cuda {
namespace {

[[noreturn]] void wrong(const Node& node, const std::string& why) {
  throw Error(text(node.who(), ": ", why), ORT_INVALID_GRAPH);
}

// An attribute that is a tensor; null if it is absent.
Owned<OrtValue> tensor_of(const Node& node, const std::string& name) {
  Owned<OrtValue> none(nullptr, api().ReleaseValue);
  const auto at = node.attributes.find(name);
  if (at == node.attributes.end()) return none;
  OrtValue* value = nullptr;
  check(api().OpAttr_GetTensorAttributeAsOrtValue(at->second, &value));
  return {value, api().ReleaseValue};
}

double half_of(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -size : size;
}

std::vector<double> reals_of(const Node& node, const std::string& name, const TensorView& view) {
  std::vector<double> reals(view.count());
  for (size_t i = 0; i < reals.size(); ++i) {
    if (view.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE)
      reals[i] = static_cast<const double*>(view.data)[i];
    else if (view.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
      reals[i] = static_cast<const float*>(view.data)[i];
    else if (view.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16)
      reals[i] = half_of(static_cast<const uint16_t*>(view.data)[i]);
    else
      wrong(node, text(name, " has the type ", name_of(view.type), ", expected floats"));
  }
  return reals;
}

void expect(const Node& node, const char* name, size_t size, size_t wanted) {
  if (size != wanted) wrong(node, text(name, " has ", size, " entries, expected ", wanted));
}

Branch branch_of(const Node& node, const std::string& mode) {
  const char* const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  const auto* const at = std::find(std::begin(names), std::end(names), mode);
  if (at == std::end(names)) wrong(node, "nodes_modes has '" + mode + "'");
  return Branch(at - std::begin(names));
}

using Id = std::pair<int64_t, int64_t>;  // of a tree, of a node

struct OldLists {
  Dims trees, nodes, features, yes, no, missing;
  std::vector<std::string> modes;
  std::vector<double> values;

  explicit OldLists(const Node& node)
      : trees(node.integers("nodes_treeids")),
        nodes(node.integers("nodes_nodeids")),
        features(node.integers("nodes_featureids")),
        yes(node.integers("nodes_truenodeids")),
        no(node.integers("nodes_falsenodeids")),
        missing(node.integers("nodes_missing_value_tracks_true")),
        modes(node.strings("nodes_modes")),
        values(providers::cuda::reals_of(node, "nodes_values", "nodes_values_as_tensor")) {
    const size_t n = nodes.size();
    expect(node, "nodes_treeids", trees.size(), n);
    expect(node, "nodes_featureids", features.size(), n);
    expect(node, "nodes_truenodeids", yes.size(), n);
    expect(node, "nodes_falsenodeids", no.size(), n);
    expect(node, "nodes_modes", modes.size(), n);
    expect(node, "nodes_values", values.size(), n);
    if (!missing.empty()) expect(node, "nodes_missing_value_tracks_true", missing.size(), n);
  }
};

}  // namespace

std::vector<double> reals_of(const Node& node, const std::string& list, const std::string& tensor) {
  if (const auto value = tensor_of(node, tensor)) return reals_of(node, tensor, view_of(value.get()));
  if (list.empty()) return {};
  const std::vector<float> numbers = node.numbers(list);
  return {numbers.begin(), numbers.end()};
}

TreeLists old_trees(const Node& node, const std::string& of, int64_t targets) {
  const OldLists lists(node);
  TreeLists t;
  t.targets = targets;
  std::map<Id, size_t> places;
  std::vector<int64_t> children(lists.nodes.size());
  for (size_t i = 0; i < children.size(); ++i) {
    if (!places.try_emplace({lists.trees[i], lists.nodes[i]}, i).second)
      wrong(node, text("tree ", lists.trees[i], " has two nodes ", lists.nodes[i]));
    const bool leaf = lists.modes[i] == "LEAF";
    children[i] = leaf ? ~int64_t(t.leaves.size()) : int64_t(t.splits.size());
    if (leaf)
      t.leaves.emplace_back();
    else
      t.splits.push_back({branch_of(node, lists.modes[i]),
                          lists.features[i],
                          lists.values[i],
                          !lists.missing.empty() && lists.missing[i] != 0,
                          0,
                          0,
                          {}});
  }
  std::vector<bool> has_parent(children.size(), false);
  const auto place = [&](int64_t tree, int64_t id) {
    const auto at = places.find({tree, id});
    if (at == places.end()) wrong(node, text("tree ", tree, " has no node ", id));
    return at->second;
  };
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i] < 0) continue;
    const size_t yes = place(lists.trees[i], lists.yes[i]), no = place(lists.trees[i], lists.no[i]);
    has_parent[yes] = has_parent[no] = true;
    t.splits[size_t(children[i])].yes = children[yes];
    t.splits[size_t(children[i])].no = children[no];
  }
  for (size_t i = 0; i < children.size(); ++i)
    if (!has_parent[i]) t.roots.push_back(children[i]);
  const Dims trees = node.integers(of + "_treeids"), nodes = node.integers(of + "_nodeids"),
             ids = node.integers(of + "_ids");
  const std::vector<double> weights = reals_of(node, of + "_weights", of + "_weights_as_tensor");
  expect(node, "the trees of weights", trees.size(), weights.size());
  expect(node, "the nodes of weights", nodes.size(), weights.size());
  expect(node, "the targets of weights", ids.size(), weights.size());
  for (size_t i = 0; i < weights.size(); ++i)  // those of splits have no meaning
    if (const int64_t child = children[place(trees[i], nodes[i])]; child < 0)
      t.leaves[size_t(~child)].push_back({ids[i], weights[i]});
  return t;
}

TreeLists new_trees(const Node& node) {
  const Dims features = node.integers("nodes_featureids"), yes = node.integers("nodes_truenodeids"),
             no = node.integers("nodes_falsenodeids"), yes_leaf = node.integers("nodes_trueleafs"),
             no_leaf = node.integers("nodes_falseleafs"), missing = node.integers("nodes_missing_value_tracks_true"),
             targets = node.integers("leaf_targetids");
  const std::vector<double> values = reals_of(node, "", "nodes_splits"), weights = reals_of(node, "", "leaf_weights"),
                            sets = reals_of(node, "", "membership_values");
  const auto modes = tensor_of(node, "nodes_modes");
  const TensorView mode = modes ? view_of(modes.get()) : TensorView();
  const size_t n = features.size();
  if (!modes || mode.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8) wrong(node, "nodes_modes is not a list of uint8");
  for (const size_t size : {yes.size(), no.size(), yes_leaf.size(), no_leaf.size(), values.size(), mode.count(),
                            missing.empty() ? n : missing.size()})
    expect(node, "a list of nodes", size, n);
  expect(node, "leaf_weights", weights.size(), targets.size());
  TreeLists t;
  t.targets = node.integer("n_targets", 1);
  t.roots = node.integers("tree_roots");
  size_t next = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint8_t branch = static_cast<const uint8_t*>(mode.data)[i];
    if (branch > uint8_t(Branch::member)) wrong(node, text("nodes_modes has ", int(branch)));
    TreeLists::Split split{Branch(branch),
                           features[i],
                           values[i],
                           !missing.empty() && missing[i] != 0,
                           yes_leaf[i] ? ~yes[i] : yes[i],
                           no_leaf[i] ? ~no[i] : no[i],
                           {}};
    // Sets are in the order of the splits that use them, and end with NaN.
    if (split.mode == Branch::member) {
      for (; next < sets.size() && !std::isnan(sets[next]); ++next) split.members.push_back(sets[next]);
      ++next;
    }
    t.splits.push_back(std::move(split));
  }
  for (size_t i = 0; i < weights.size(); ++i) t.leaves.push_back({{targets[i], weights[i]}});
  return t;
}

namespace {

template <typename T>
std::vector<char> bytes_of(const std::vector<T>& list) {
  const auto* begin = reinterpret_cast<const char*>(list.data());
  return {begin, begin + list.size() * sizeof(T)};
}

// Nodes depth first: the branch for "yes" follows its split.
template <typename T>
class TreeLayout {
 public:
  TreeLayout(const Node& node, const TreeLists& lists)
      : node_(node), lists_(lists), seen_(lists.splits.size(), false) {}

  TreeTables layout() {
    for (const int64_t root : lists_.roots) {
      roots_.push_back(uint32_t(nodes_.size()));
      add_tree(root);
    }
    made_.trees = int64_t(roots_.size());
    made_.nodes = bytes_of(nodes_);
    made_.weights = bytes_of(weights_);
    made_.members = bytes_of(members_);
    made_.roots = bytes_of(roots_);
    return std::move(made_);
  }

 private:
  struct Weight {
    T value;
    uint32_t target;
  };
  struct Open {
    int64_t child;
    int64_t parent;  // whose "no" this is; -1: none
  };
  static_assert(sizeof(Weight) == 2 * sizeof(T));
  // The kernel's Node: 8 bytes for its value or range, then two words.
  struct Packed {
    char bytes[16] = {};
  };
  static Packed packed(const void* eight, size_t size, uint32_t split, uint32_t no) {
    Packed d;
    std::memcpy(d.bytes, eight, size);
    std::memcpy(d.bytes + 8, &split, 4);
    std::memcpy(d.bytes + 12, &no, 4);
    return d;
  }

  void add_tree(int64_t root) {
    std::vector<Open> open{{root, -1}};
    while (!open.empty()) {
      const Open next = open.back();
      open.pop_back();
      const auto at = uint32_t(nodes_.size());
      if (next.parent >= 0) std::memcpy(nodes_[size_t(next.parent)].bytes + 12, &at, 4);
      if (next.child < 0) {
        add_leaf(size_t(~next.child));
        continue;
      }
      add_split(size_t(next.child));
      const TreeLists::Split& split = lists_.splits[size_t(next.child)];
      open.push_back({split.no, int64_t(at)});
      open.push_back({split.yes, -1});
    }
  }
  void add_split(size_t i) {
    if (i >= seen_.size()) wrong(node_, text("a tree leads to node ", i, " of ", seen_.size()));
    if (seen_[i]) wrong(node_, text("node ", i, " is reached twice: the nodes do not form trees"));
    seen_[i] = true;
    const TreeLists::Split& split = lists_.splits[i];
    if (split.feature < 0 || split.feature >= int64_t(1) << 28)
      wrong(node_, text("a tree uses feature ", split.feature));
    made_.features = std::max(made_.features, split.feature + 1);
    made_.plain = made_.plain && split.mode == Branch::leq && !split.missing_is_true;
    const uint32_t how = uint32_t(split.feature) * 16 + (split.missing_is_true ? 8 : 0) + uint32_t(split.mode);
    if (split.mode == Branch::member) {
      uint32_t range[2] = {uint32_t(members_.size()), 0};
      for (const double member : split.members) members_.push_back(T(member));
      std::sort(members_.begin() + range[0], members_.end());
      range[1] = uint32_t(members_.size());
      nodes_.push_back(packed(range, sizeof range, how, 0));
    } else {
      const T value = T(split.value);
      nodes_.push_back(packed(&value, sizeof value, how, 0));
    }
  }
  void add_leaf(size_t i) {
    if (i >= lists_.leaves.size()) wrong(node_, text("a tree leads to leaf ", i, " of ", lists_.leaves.size()));
    uint32_t range[2] = {uint32_t(weights_.size()), 0};
    for (const TreeLists::Weight& w : lists_.leaves[i]) {
      if (w.target < 0 || w.target >= lists_.targets)
        wrong(node_, text("a leaf has a weight for target ", w.target, " of ", lists_.targets));
      weights_.push_back({T(w.value), uint32_t(w.target)});
    }
    std::stable_sort(weights_.begin() + range[0], weights_.end(),
                     [](const Weight& a, const Weight& b) { return a.target < b.target; });
    range[1] = uint32_t(weights_.size());
    nodes_.push_back(packed(range, sizeof range, uint32_t(Branch::leaf), 0));
  }

  const Node& node_;
  const TreeLists& lists_;
  std::vector<bool> seen_;
  std::vector<Packed> nodes_;
  std::vector<Weight> weights_;
  std::vector<T> members_;
  std::vector<uint32_t> roots_;
  TreeTables made_;
};

}  // namespace

template <typename T>
TreeTables tree_tables(const Node& node, const TreeLists& lists) {
  return TreeLayout<T>(node, lists).layout();
}
template TreeTables tree_tables<float>(const Node&, const TreeLists&);
template TreeTables tree_tables<double>(const Node&, const TreeLists&);

}  // namespace providers::cuda
