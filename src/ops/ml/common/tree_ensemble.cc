#include "ops/ml/common/tree_ensemble.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace retort::ops {
namespace {

// Without an early end, so that the compiler uses vectors.
template <typename T>
bool has_nan(std::span<const T> x) {
  bool found = false;
  for (const T v : x) found |= v != v;
  return found;
}

}  // namespace

template <typename T>
TreeEnsemble<T>::TreeEnsemble(const TreeTables& tables) : targets_(size_t(tables.targets)) {
  require(tables.splits.size() + tables.leaf_ends.size() < UINT32_MAX, ErrorCode::invalid_graph, "too many tree nodes");
  nodes_.reserve(tables.splits.size() + tables.leaf_ends.size());
  details_.reserve(tables.splits.size() + tables.leaf_ends.size());
  weights_.reserve(tables.weights.size());
  std::vector<bool> seen(tables.splits.size(), false);
  for (const TreeTables::Child root : tables.roots) roots_.push_back(add_tree(tables, root, seen));
  const auto unseen = std::ranges::find(seen, false);
  require(unseen == seen.end(), ErrorCode::invalid_graph, "node {} of a tree is not reached from any root",
          unseen - seen.begin());
}

template <typename T>
uint32_t TreeEnsemble<T>::add_leaf(const TreeTables& tables, size_t leaf) {
  const std::vector<uint32_t>& ends = tables.leaf_ends;
  require(leaf < ends.size(), ErrorCode::invalid_graph, "leaf {} of a tree does not exist: there are {} leaves", leaf,
          ends.size());
  const auto self = uint32_t(nodes_.size());
  Detail detail{.first = uint32_t(weights_.size())};
  for (uint32_t i = leaf ? ends[leaf - 1] : 0; i < ends[leaf]; ++i) {
    const TreeTables::Weight& w = tables.weights[i];
    require(w.target >= 0 && size_t(w.target) < targets_, ErrorCode::invalid_graph,
            "a leaf has a weight for target {}, but there are {}", w.target, targets_);
    weights_.push_back({uint32_t(w.target), T(w.value)});
  }
  detail.last = uint32_t(weights_.size());
  nodes_.push_back({T(0), 0, {self, self}});
  details_.push_back(detail);
  return self;
}

template <typename T>
void TreeEnsemble<T>::add_split(const TreeTables& tables, const TreeTables::Split& split, bool swapped) {
  require(split.feature >= 0 && split.feature < INT32_MAX, ErrorCode::invalid_graph, "a tree uses feature {}",
          split.feature);
  features_ = std::max(features_, size_t(split.feature) + 1);
  Detail detail{split.mode, split.missing_is_true != swapped, uint32_t(members_.size()), 0};
  if (swapped) detail.mode = split.mode == Branch::gte ? Branch::lt : Branch::leq;
  for (uint32_t i = split.first; i < split.last; ++i) members_.push_back(T(tables.members[i]));
  std::sort(members_.begin() + detail.first, members_.end());
  detail.last = uint32_t(members_.size());
  less_ &= detail.mode == Branch::lt;
  less_or_equal_ &= detail.mode == Branch::leq;
  missing_ |= detail.missing_is_true;
  nodes_.push_back({T(split.value), uint32_t(split.feature) | (detail.missing_is_true ? kMissing : 0), {0, 0}});
  details_.push_back(detail);
}

// Depth first, so that a path is contiguous. Iterative, because a tree may be as deep as it has nodes.
template <typename T>
uint32_t TreeEnsemble<T>::add_tree(const TreeTables& tables, TreeTables::Child root, std::vector<bool>& seen) {
  struct Open {
    TreeTables::Child child;
    uint32_t parent;
    bool no;
  };
  std::vector<Open> open{{root, UINT32_MAX, false}};
  const auto first = uint32_t(nodes_.size());
  while (!open.empty()) {
    const Open next = open.back();
    open.pop_back();
    const auto at = uint32_t(nodes_.size());
    if (next.parent != UINT32_MAX) nodes_[next.parent].child[next.no] = at;
    if (next.child < 0) {
      add_leaf(tables, size_t(~next.child));
      continue;
    }
    const auto index = size_t(next.child);
    require(index < tables.splits.size(), ErrorCode::invalid_graph,
            "node {} of a tree does not exist: there are {} nodes", index, tables.splits.size());
    require(!seen[index], ErrorCode::invalid_graph, "node {} is reached twice: the nodes do not form trees", index);
    seen[index] = true;
    const TreeTables::Split& split = tables.splits[index];
    // "x >= v" is "x < v" with the branches exchanged, unless v is NaN.
    const bool above = split.mode == Branch::gte || split.mode == Branch::gt,
               swapped = above && split.value == split.value;
    add_split(tables, split, swapped);
    open.push_back({swapped ? split.yes : split.no, at, true});
    open.push_back({swapped ? split.no : split.yes, at, false});
  }
  return first;
}

template <typename T>
bool TreeEnsemble<T>::holds(const Detail& detail, T x, T value) const noexcept {
  if (detail.missing_is_true && std::isnan(x)) return true;
  switch (detail.mode) {
    case Branch::leq:
      return x <= value;
    case Branch::lt:
      return x < value;
    case Branch::gte:
      return x >= value;
    case Branch::gt:
      return x > value;
    case Branch::eq:
      return x == value;
    case Branch::neq:
      return x != value;
    case Branch::member:
      return !std::isnan(x) && std::binary_search(members_.begin() + detail.first, members_.begin() + detail.last, x);
  }
  return false;
}

// All lanes go down a level at a time, so that their loads overlap. Leaves lead to themselves.
template <typename T>
template <class Lanes, class Holds>
void TreeEnsemble<T>::walk(Lanes lanes, const Holds& holds) const noexcept {
  const Node* nodes = nodes_.data();
  bool moved = features_ > 0;
  while (moved) {
    moved = false;
    for (Lane& lane : lanes) {
      const Node& node = nodes[lane.at];
      const uint32_t next = node.child[!holds(lane.at, node, lane.row)];
      moved |= next != lane.at;
      lane.at = next;
    }
  }
}

// A function for each kind of comparison: inlined into one, all are 1.4 times as slow.
template <typename T>
template <class Holds>
[[gnu::noinline]] void TreeEnsemble<T>::walk_all(std::span<Lane> lanes, const Holds& holds) const noexcept {
  if (lanes.size() == kLanes) {  // a count that the compiler knows
    walk(lanes.template first<kLanes>(), holds);
  } else {
    walk(lanes, holds);
  }
}

// `missing`: whether a row has NaN that some comparison asks for.
template <typename T>
void TreeEnsemble<T>::walk(std::span<Lane> lanes, bool missing) const noexcept {
  using Row = const T*;
  const auto x = [](const Node& node, Row row) { return row[node.feature & ~kMissing]; };
  const auto if_missing = [&](const Node& node, Row row) {
    return bool((x(node, row) != x(node, row)) & (node.feature >> 31));
  };
  if (less_or_equal_ && !missing_)
    walk_all(lanes, [](uint32_t, const Node& node, Row row) { return row[node.feature] <= node.value; });
  else if (less_or_equal_ && !missing)
    walk_all(lanes, [&](uint32_t, const Node& node, Row row) { return x(node, row) <= node.value; });
  else if (less_ && !missing)
    walk_all(lanes, [&](uint32_t, const Node& node, Row row) { return x(node, row) < node.value; });
  else if (less_or_equal_)
    walk_all(lanes,
             [&](uint32_t, const Node& node, Row row) { return (x(node, row) <= node.value) | if_missing(node, row); });
  else if (less_)
    walk_all(lanes,
             [&](uint32_t, const Node& node, Row row) { return (x(node, row) < node.value) | if_missing(node, row); });
  else
    walk(lanes, [&](uint32_t at, const Node& node, Row row) { return holds(details_[at], x(node, row), node.value); });
}

template <typename T>
void TreeEnsemble<T>::add(uint32_t leaf, Aggregate aggregate, T* scores, bool* spoken) const noexcept {
  for (uint32_t i = details_[leaf].first; i < details_[leaf].last; ++i) {
    const Weight w = weights_[i];
    T& score = scores[w.target];
    if (!spoken[w.target]) {
      score = w.value;
    } else if (aggregate == Aggregate::min) {
      score = std::min(score, w.value);
    } else if (aggregate == Aggregate::max) {
      score = std::max(score, w.value);
    } else {
      score += w.value;
    }
    spoken[w.target] = true;
  }
}

template <typename T>
void TreeEnsemble<T>::evaluate(const T* x, size_t rows, size_t columns, Aggregate aggregate, T* scores,
                               bool* spoken) const noexcept {
  std::fill_n(scores, rows * targets_, T(0));
  std::fill_n(spoken, rows * targets_, false);
  const bool missing = missing_ && has_nan(std::span(x, rows * columns));
  Lane lanes[kLanes];
  if (rows < kLanes) {  // several trees at a time for each row
    for (size_t r = 0; r < rows; ++r) {
      for (size_t t = 0; t < roots_.size(); t += kLanes) {
        const size_t n = std::min(kLanes, roots_.size() - t);
        for (size_t i = 0; i < n; ++i) lanes[i] = {x + r * columns, roots_[t + i]};
        walk({lanes, n}, missing);
        for (size_t i = 0; i < n; ++i) add(lanes[i].at, aggregate, scores + r * targets_, spoken + r * targets_);
      }
    }
  } else {
    for (const uint32_t root : roots_) {
      for (size_t r = 0; r < rows; r += kLanes) {
        const size_t n = std::min(kLanes, rows - r);
        for (size_t i = 0; i < n; ++i) lanes[i] = {x + (r + i) * columns, root};
        walk({lanes, n}, missing);
        for (size_t i = 0; i < n; ++i)
          add(lanes[i].at, aggregate, scores + (r + i) * targets_, spoken + (r + i) * targets_);
      }
    }
  }
  if (aggregate == Aggregate::average && !roots_.empty())
    for (size_t i = 0; i < rows * targets_; ++i) scores[i] /= T(roots_.size());
}

template class TreeEnsemble<float>;
template class TreeEnsemble<double>;

}  // namespace retort::ops
