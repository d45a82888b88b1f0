// Sizes of the trees in TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble.
#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <set>

#include "contents/model_file.h"
#include "diff/proto.h"

namespace retort::cli {
namespace {

using Reader = protozero::pbf_reader;

/// The lists of a node's attributes that describe trees.
struct Lists {
  std::map<std::string, std::vector<int64_t>> integers;
  std::vector<std::string> modes;  ///< of the nodes; "LEAF"
};

struct Size {
  size_t trees = 0, nodes = 0, leaves = 0, depth = 0;
};

std::vector<int64_t> integers_of(Reader& p) {
  std::vector<int64_t> all;
  if (p.wire_type() == protozero::pbf_wire_type::varint)
    all.push_back(p.get_int64());
  else
    for (const int64_t i : p.get_packed_int64()) all.push_back(i);
  return all;
}

void read_attribute(Reader attribute, Lists& lists) {
  std::string name;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  while (attribute.next()) {
    if (attribute.tag() == 1)
      name = attribute.get_string();
    else if (attribute.tag() == 8)
      for (const int64_t i : integers_of(attribute)) integers.push_back(i);
    else if (attribute.tag() == 9)
      texts.push_back(attribute.get_string());
    else
      attribute.skip();
  }
  if (name == "nodes_modes") lists.modes = std::move(texts);
  lists.integers[name] = std::move(integers);
}

/// The edges of the longest path from `root`; `children` of a node: up to two, below 0 if there is none. A file may have
/// a circle in it, so no path is longer than the number of nodes.
size_t depth_from(size_t root, const std::vector<std::pair<int64_t, int64_t>>& children) {
  std::vector<size_t> level{root};
  size_t depth = 0;
  std::set<size_t> seen{root};
  while (!level.empty()) {
    std::vector<size_t> next;
    for (const size_t node : level) {
      for (const int64_t child : {children[node].first, children[node].second}) {
        if (child >= 0 && size_t(child) < children.size() && seen.insert(size_t(child)).second)
          next.push_back(size_t(child));
      }
    }
    depth += !next.empty();
    level = std::move(next);
  }
  return depth;
}

/// Nodes and leaves are in the same lists; a child is the number of a node in the same tree.
Size size_of_nodes(Lists& lists) {
  const auto& trees = lists.integers["nodes_treeids"];
  const auto& ids = lists.integers["nodes_nodeids"];
  const auto &yes = lists.integers["nodes_truenodeids"], &no = lists.integers["nodes_falsenodeids"];
  const size_t n = std::min({trees.size(), ids.size(), yes.size(), no.size(), lists.modes.size()});
  std::map<std::pair<int64_t, int64_t>, int64_t> index;
  for (size_t i = 0; i < n; ++i) index[{trees[i], ids[i]}] = int64_t(i);
  const auto find = [&](size_t i, int64_t id) {
    const auto found = lists.modes[i] == "LEAF" ? index.end() : index.find({trees[i], id});
    return found == index.end() ? -1 : found->second;
  };
  std::vector<std::pair<int64_t, int64_t>> children;
  std::set<int64_t> roots, below;
  Size size{.nodes = n};
  for (size_t i = 0; i < n; ++i) {
    children.emplace_back(find(i, yes[i]), find(i, no[i]));
    below.insert({children[i].first, children[i].second});
    roots.insert(trees[i]);
    size.leaves += lists.modes[i] == "LEAF";
  }
  size.trees = roots.size();
  for (size_t i = 0; i < n; ++i) {
    if (!below.contains(int64_t(i))) size.depth = std::max(size.depth, depth_from(i, children));
  }
  return size;
}

/// Leaves are in lists of their own; a child is the number of a node or of a leaf.
Size size_of_split_lists(Lists& lists) {
  const auto &yes = lists.integers["nodes_truenodeids"], &no = lists.integers["nodes_falsenodeids"];
  const auto &yes_leaf = lists.integers["nodes_trueleafs"], &no_leaf = lists.integers["nodes_falseleafs"];
  const size_t n = std::min({yes.size(), no.size(), yes_leaf.size(), no_leaf.size()});
  const size_t leaves = lists.integers["leaf_targetids"].size();
  const auto child = [&](const auto& ids, const auto& leaf, size_t i) { return ids[i] + (leaf[i] ? int64_t(n) : 0); };
  std::vector<std::pair<int64_t, int64_t>> children;
  for (size_t i = 0; i < n; ++i) children.emplace_back(child(yes, yes_leaf, i), child(no, no_leaf, i));
  children.resize(n + leaves, {-1, -1});
  Size size{lists.integers["tree_roots"].size(), n + leaves, leaves, 0};
  for (const int64_t root : lists.integers["tree_roots"]) {
    if (root >= 0 && size_t(root) < n) size.depth = std::max(size.depth, depth_from(size_t(root), children));
  }
  return size;
}

void read_node(Reader node, nlohmann::json& all) {
  std::string name, op, output;
  Lists lists;
  while (node.next()) {
    if (node.tag() == 3)
      name = node.get_string();
    else if (node.tag() == 4)
      op = node.get_string();
    else if (node.tag() == 2 && output.empty())
      output = node.get_string();
    else if (node.tag() == 5)
      read_attribute(node.get_message(), lists);
    else
      node.skip();
  }
  if (!op.starts_with("TreeEnsemble")) return;
  const Size size = op == "TreeEnsemble" ? size_of_split_lists(lists) : size_of_nodes(lists);
  all[name.empty() ? output : name] = {
      {"trees", size.trees}, {"nodes", size.nodes}, {"leaves", size.leaves}, {"depth", size.depth}};
}

}  // namespace

nlohmann::json list_trees(const std::string& model) {
  nlohmann::json all = nlohmann::json::object();
  for (const data_view node : fields(find_graph(model), kGraphNode)) read_node(Reader(node), all);
  return all;
}

}  // namespace retort::cli
