#include "ops/ml/common/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
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

template <class Visit>
void each_split(const TreeTables& tables, std::initializer_list<TreeTables::Child> children, const Visit& visit) {
  for (const TreeTables::Child c : children)
    if (c >= 0 && size_t(c) < tables.splits.size()) visit(size_t(c));
}

// Takes away splits that no other one leads to, until none is left.
void require_no_cycle(const TreeTables& tables, std::vector<uint32_t> parents) {
  std::vector<size_t> free;
  const auto release = [&](size_t i) {
    if (--parents[i] == 0) free.push_back(i);
  };
  for (const TreeTables::Child root : tables.roots) each_split(tables, {root}, release);
  while (!free.empty()) {
    const TreeTables::Split& s = tables.splits[free.back()];
    free.pop_back();
    each_split(tables, {s.yes, s.no}, release);
  }
  const auto left = std::ranges::find_if(parents, [](uint32_t n) { return n > 0; });
  require(left == parents.end(), ErrorCode::invalid_graph, "node {} of a tree is in a cycle, or no root leads to it",
          left - parents.begin());
}

// How many nodes lead to each split; a root counts as led to.
std::vector<uint32_t> parents_of(const TreeTables& tables) {
  std::vector<uint32_t> parents(tables.splits.size(), 0);
  const auto count = [&](size_t i) { ++parents[i]; };
  for (const TreeTables::Child root : tables.roots) each_split(tables, {root}, count);
  for (const TreeTables::Split& s : tables.splits) each_split(tables, {s.yes, s.no}, count);
  if (std::ranges::any_of(parents, [](uint32_t n) { return n > 1; })) require_no_cycle(tables, parents);
  return parents;
}

// A split with its members. Converters write "x is 1, 3 or 4" as "x == 1", otherwise "x == 3", otherwise "x == 4", all of
// which lead to one node: such a chain is one set, and all its nodes have the place of the first.
std::pair<TreeTables::Split, std::vector<double>> whole_set(const TreeTables& tables, size_t index,
                                                            const std::vector<uint32_t>& parents,
                                                            std::vector<uint32_t>& places) {
  TreeTables::Split set = tables.splits[index];
  std::vector<double> members(tables.members.begin() + set.first, tables.members.begin() + set.last);
  const auto continues = [&](TreeTables::Child child) {
    if (child < 0 || size_t(child) >= tables.splits.size() || parents[size_t(child)] != 1) return false;
    const TreeTables::Split& next = tables.splits[size_t(child)];
    return next.mode == Branch::eq && next.feature == set.feature && next.yes == set.yes &&
           next.missing_is_true == set.missing_is_true;
  };
  if (set.mode != Branch::eq || !continues(set.no)) return {set, std::move(members)};
  set.mode = Branch::member;
  members.push_back(set.value);
  while (continues(set.no)) {
    const TreeTables::Split& next = tables.splits[size_t(set.no)];
    places[size_t(set.no)] = places[index];
    members.push_back(next.value);
    set.no = next.no;
  }
  std::erase_if(members, [](double v) { return std::isnan(v); });  // nothing equals it
  return {set, std::move(members)};
}

}  // namespace

template <typename T>
TreeEnsemble<T>::TreeEnsemble(const TreeTables& tables) : targets_(size_t(tables.targets)) {
  require(tables.splits.size() + tables.leaf_ends.size() < UINT32_MAX / kStep, ErrorCode::invalid_graph,
          "too many tree nodes");
  nodes_.reserve(tables.splits.size() + tables.leaf_ends.size());
  details_.reserve(tables.splits.size() + tables.leaf_ends.size());
  weights_.reserve(tables.weights.size());
  Progress progress{parents_of(tables), std::vector<uint32_t>(tables.splits.size(), kNowhere)};
  for (const TreeTables::Child root : tables.roots) {
    roots_.push_back(add_tree(tables, root, progress));
    levels_.add(roots_.back().levels);
    roots_.back().levels.round();
  }
  levels_.round();
  const auto unseen = std::ranges::find(progress.places, kNowhere);
  require(unseen == progress.places.end(), ErrorCode::invalid_graph, "node {} of a tree is not reached from any root",
          unseen - progress.places.begin());
  if (sets_ && sets_or_leq_) make_masks();
}

template <typename T>
void TreeEnsemble<T>::Levels::add(const Levels& other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
  leaves += other.leaves;
  sum += other.sum;
}

template <typename T>
void TreeEnsemble<T>::Levels::round() {
  constexpr uint64_t kFew = 2;
  if (leaves > 0 && most <= sum / leaves + kFew) least = most;
}

template <typename T>
void TreeEnsemble<T>::add_leaf(const TreeTables& tables, size_t leaf) {
  const std::vector<uint32_t>& ends = tables.leaf_ends;
  require(leaf < ends.size(), ErrorCode::invalid_graph, "leaf {} of a tree does not exist: there are {} leaves", leaf,
          ends.size());
  const uint32_t self = next_node();
  Detail detail{.first = uint32_t(weights_.size())};
  for (uint32_t i = leaf ? ends[leaf - 1] : 0; i < ends[leaf]; ++i) {
    const TreeTables::Weight& w = tables.weights[i];
    require(w.target >= 0 && size_t(w.target) < targets_, ErrorCode::invalid_graph,
            "a leaf has a weight for target {}, but there are {}", w.target, targets_);
    weights_.push_back({uint32_t(w.target), T(w.value)});
  }
  detail.last = uint32_t(weights_.size());
  plain_ &= targets_ == 1 && detail.last == detail.first + 1;
  nodes_.push_back({detail.first < detail.last ? weights_.back().value : T(0), 0, {self, self}});
  details_.push_back(detail);
}

template <typename T>
void TreeEnsemble<T>::add_split(const TreeTables::Split& split, std::span<const double> members, bool swapped) {
  require(split.feature >= 0 && split.feature < INT32_MAX, ErrorCode::invalid_graph, "a tree uses feature {}",
          split.feature);
  features_ = std::max(features_, size_t(split.feature) + 1);
  Detail detail{split.mode, split.missing_is_true != swapped, uint32_t(members_.size()), 0};
  if (swapped) detail.mode = split.mode == Branch::gte ? Branch::lt : Branch::leq;
  for (const double v : members) members_.push_back(T(v));
  std::sort(members_.begin() + detail.first, members_.end());
  detail.last = uint32_t(members_.size());
  const bool set = detail.mode == Branch::member || detail.mode == Branch::eq;
  sets_ |= set;
  sets_or_leq_ &= set || detail.mode == Branch::leq;
  less_ &= detail.mode == Branch::lt;
  less_or_equal_ &= detail.mode == Branch::leq;
  missing_ |= detail.missing_is_true;
  nodes_.push_back({T(split.value), uint32_t(split.feature) | (detail.missing_is_true ? kMissing : 0), {0, 0}});
  details_.push_back(detail);
}

// Depth first, so that a path is contiguous. Iterative, because a tree may be as deep as it has nodes.
template <typename T>
typename TreeEnsemble<T>::Root TreeEnsemble<T>::add_tree(const TreeTables& tables, TreeTables::Child root,
                                                         Progress& progress) {
  struct Open {
    TreeTables::Child child;
    size_t parent;  // an index
    uint32_t level;
    bool no;
  };
  std::vector<Open> open{{root, 0, 0, false}};
  Root tree{.at = next_node(), .levels = {}};
  while (!open.empty()) {
    const Open next = open.back();
    open.pop_back();
    const size_t at = nodes_.size();
    const auto index = size_t(next.child);
    require(next.child < 0 || index < tables.splits.size(), ErrorCode::invalid_graph,
            "node {} of a tree does not exist: there are {} nodes", index, tables.splits.size());
    const uint32_t place = next.child < 0 ? kNowhere : progress.places[index];
    if (next.level > 0) nodes_[next.parent].child[next.no] = place == kNowhere ? next_node() : place;
    if (next.child < 0) {
      add_leaf(tables, size_t(~next.child));
      tree.levels.add({next.level, next.level, 1, next.level});
      continue;
    }
    if (place != kNowhere) {
      require(next.level > 0, ErrorCode::invalid_graph, "node {} is the root of one tree and part of another", index);
      tree.levels.add({next.level, UINT32_MAX, 0, 0});  // longer paths may lead there
      continue;
    }
    progress.places[index] = next_node();
    const auto [split, members] = whole_set(tables, index, progress.parents, progress.places);
    // "x >= v" is "x < v" with the branches exchanged, unless v is NaN.
    const bool above = split.mode == Branch::gte || split.mode == Branch::gt,
               swapped = above && split.value == split.value;
    add_split(split, members, swapped);
    open.push_back({swapped ? split.yes : split.no, at, next.level + 1, true});
    open.push_back({swapped ? split.no : split.yes, at, next.level + 1, false});
  }
  return tree;
}

// Categories are small integers. With a bit for each, a set is asked without a search and, since other splits find no bit
// and sets no value, without a branch that the processor would have to guess: 500 rows of 60 trees with sets of 2 to 20
// of 40 categories take 0.4 of the time.
template <typename T>
void TreeEnsemble<T>::make_masks() {
  masks_.resize(nodes_.size());
  bits_ = {0};
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const bool leaf = nodes_[i].child[0] == i * kStep;
    const Detail& d = details_[i];
    if (leaf || d.mode == Branch::leq) continue;
    const std::span<const T> members = d.mode == Branch::eq
                                           ? std::span<const T>(&nodes_[i].value, 1)
                                           : std::span<const T>(members_).subspan(d.first, d.last - d.first);
    if (!add_mask(i, members)) {
      masks_ = {};
      bits_ = {};
      return;
    }
  }
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (masks_[i].first > 0) nodes_[i].value = std::numeric_limits<T>::quiet_NaN();
}

/// Returns false if the members, which are sorted, are not small integers, or so few of them that the bits would take
/// much more memory than they do.
template <typename T>
bool TreeEnsemble<T>::add_mask(size_t node, std::span<const T> members) {
  constexpr T kMostBits = 1 << 14;         // 2 KiB: walks read sets at random, and nodes need the small cache, too
  constexpr size_t kBitsPerMember = 1024;  // 128 bytes, 32 times as much as the member as a float
  if (members.empty() || !(members.front() >= 0 && members.back() < kMostBits)) return false;
  const size_t limit = size_t(members.back()) + 1;
  if (limit > kBitsPerMember * members.size()) return false;
  masks_[node] = {T(limit), uint32_t(bits_.size())};
  bits_.resize(bits_.size() + limit / 32 + 1, 0);
  for (const T v : members) {
    if (T(size_t(v)) != v) return false;
    bits_[masks_[node].first + size_t(v) / 32] |= 1u << (size_t(v) % 32);
  }
  return true;
}

template <typename T>
bool TreeEnsemble<T>::masked(const Mask& mask, T x) const noexcept {
  const auto i = uint32_t(std::min(std::max(T(0), x), mask.limit));  // 0 for NaN
  return bool((bits_[mask.first + i / 32] >> (i % 32)) & uint32_t(T(i) == x));
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
template <class Holds>
[[gnu::noinline]] void TreeEnsemble<T>::walk(Lane* lanes, const Levels& levels, const Holds& holds) const noexcept {
  uint32_t at[kLanes];  // in registers
#pragma GCC unroll 8
  for (size_t i = 0; i < kLanes; ++i) at[i] = lanes[i].at;
  uint32_t moving = levels.most - levels.least;
  for (uint32_t level = levels.least;; level = 1) {
    for (; level > 0; --level)
#pragma GCC unroll 8
      for (size_t i = 0; i < kLanes; ++i) {
        const Node& here = node(at[i]);
        at[i] = here.child[!holds(at[i], here, lanes[i].row)];
      }
    if (moving == 0) break;
    moving = 0;
#pragma GCC unroll 8
    for (size_t i = 0; i < kLanes; ++i) moving |= node(at[i]).child[0] ^ at[i];
    if (moving == 0) break;
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < kLanes; ++i) lanes[i].at = at[i];
}

// `missing`: whether a row has NaN that some comparison asks for.
template <typename T>
void TreeEnsemble<T>::walk(Lane* lanes, const Levels& levels, bool missing) const noexcept {
  using Row = const T*;
  const auto x = [](const Node& node, Row row) { return row[node.feature & ~kMissing]; };
  const auto if_missing = [&](const Node& node, Row row) {
    return bool((x(node, row) != x(node, row)) & (node.feature >> 31));
  };
  const auto all = [&](const auto& holds) { walk(lanes, levels, holds); };
  if (less_or_equal_ && !missing_)
    all([](uint32_t, const Node& node, Row row) { return row[node.feature] <= node.value; });
  else if (less_or_equal_ && !missing)
    all([&](uint32_t, const Node& node, Row row) { return x(node, row) <= node.value; });
  else if (less_ && !missing)
    all([&](uint32_t, const Node& node, Row row) { return x(node, row) < node.value; });
  else if (less_or_equal_)
    all([&](uint32_t, const Node& node, Row row) { return (x(node, row) <= node.value) | if_missing(node, row); });
  else if (less_)
    all([&](uint32_t, const Node& node, Row row) { return (x(node, row) < node.value) | if_missing(node, row); });
  else if (!masks_.empty())
    all([&](uint32_t at, const Node& node, Row row) {
      return (x(node, row) <= node.value) | masked(masks_[at / kStep], x(node, row)) | if_missing(node, row);
    });
  else
    all([&](uint32_t at, const Node& node, Row row) { return holds(detail(at), x(node, row), node.value); });
}

template <typename T>
void TreeEnsemble<T>::add(uint32_t leaf, Aggregate aggregate, T* scores, bool* spoken) const noexcept {
  const bool extreme = aggregate == Aggregate::min || aggregate == Aggregate::max;
  for (uint32_t i = detail(leaf).first; i < detail(leaf).last; ++i) {
    const Weight w = weights_[i];
    T& score = scores[w.target];
    if (!extreme || !spoken[w.target]) {
      score += w.value;  // from 0 on
    } else {
      score = aggregate == Aggregate::min ? std::min(score, w.value) : std::max(score, w.value);
    }
    spoken[w.target] = true;
  }
}

// Adds the leaves of lanes to scores that are `stride` apart.
template <typename T>
void TreeEnsemble<T>::add_all(const Lane* lanes, size_t count, Aggregate aggregate, T* scores, bool* spoken,
                              size_t stride) const noexcept {
  const bool sum = aggregate == Aggregate::sum || aggregate == Aggregate::average;
  for (size_t i = 0; i < count; ++i, scores += stride, spoken += stride) {
    if (plain_ && sum) {
      *scores += node(lanes[i].at).value;
      *spoken = true;
    } else {
      add(lanes[i].at, aggregate, scores, spoken);
    }
  }
}

// Trees are added in the same order for each row, however they are walked. Lanes that are left over repeat the first.
template <typename T>
void TreeEnsemble<T>::evaluate(const T* x, size_t rows, size_t columns, Aggregate aggregate, T* scores,
                               bool* spoken) const noexcept {
  std::fill_n(scores, rows * targets_, T(0));
  std::fill_n(spoken, rows * targets_, false);
  const bool missing = missing_ && has_nan(std::span(x, rows * columns));
  const size_t trees = roots_.size(), rest = rows % kLanes;
  // Rows that do not fill the lanes are walked one at a time, each down several trees, if that is less work.
  const size_t together = rest * ceil_div(trees, kLanes) < trees ? rows - rest : rows;
  Lane lanes[kLanes];
  for (const Root& root : roots_) {
    for (size_t r = 0; r < together; r += kLanes) {
      const size_t n = std::min(kLanes, together - r);
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = {x + (i < n ? r + i : r) * columns, root.at};
      walk(lanes, root.levels, missing);
      add_all(lanes, n, aggregate, scores + r * targets_, spoken + r * targets_, targets_);
    }
  }
  for (size_t r = together; r < rows; ++r) {
    for (size_t t = 0; t < trees; t += kLanes) {
      const size_t n = std::min(kLanes, trees - t);
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = {x + r * columns, roots_[i < n ? t + i : t].at};
      walk(lanes, levels_, missing);
      add_all(lanes, n, aggregate, scores + r * targets_, spoken + r * targets_, 0);
    }
  }
  if (aggregate == Aggregate::average && trees > 0)
    for (size_t i = 0; i < rows * targets_; ++i) scores[i] /= T(trees);
}

template class TreeEnsemble<float>;
template class TreeEnsemble<double>;

}  // namespace retort::ops
