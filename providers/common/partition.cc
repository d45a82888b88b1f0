#include "partition.h"

#include <algorithm>
#include <set>

namespace providers {
namespace {

constexpr size_t kNone = SIZE_MAX;

// Merges nodes into groups, step by step. A node without a group is a group of its own.
class Contraction {
 public:
  explicit Contraction(const Graph& graph) {
    std::map<const Value*, size_t> made_by;
    for (const Node& node : graph.nodes()) {
      const size_t n = nodes_.size();
      nodes_.push_back(&node);
      std::set<size_t> before;
      for (const auto* list : {&node.in, &node.implicit})
        for (const Value* v : *list)
          if (const auto at = made_by.find(v); v && at != made_by.end()) before.insert(at->second);
      sources_.emplace_back(before.begin(), before.end());
      for (const Value* v : node.out)
        if (v) made_by[v] = n;
      group_.push_back(kNone);
    }
  }

  void claim(size_t node) {
    std::vector<size_t> candidates;
    for (const size_t s : sources_[node])
      if (group_[s] != kNone && !std::count(candidates.begin(), candidates.end(), group_[s]))
        candidates.push_back(group_[s]);
    group_[node] = members_.size();
    members_.push_back({node});
    for (const size_t other : candidates) merge(other, group_[node]);
  }

  std::vector<std::vector<const Node*>> groups() const {
    std::vector<std::vector<const Node*>> result;
    for (std::vector<size_t> list : members_) {
      if (list.empty()) continue;
      std::sort(list.begin(), list.end());
      auto& group = result.emplace_back();
      for (const size_t n : list) group.push_back(nodes_[n]);
    }
    return result;
  }
  size_t size() const { return nodes_.size(); }
  const Node& node(size_t n) const { return *nodes_[n]; }

 private:
  // Merges two groups unless a path between them leads through a node outside of both.
  void merge(size_t a, size_t b) {
    if (leaves_and_returns(a, b) || leaves_and_returns(b, a)) return;
    for (const size_t n : members_[b]) group_[n] = a;
    members_[a].insert(members_[a].end(), members_[b].begin(), members_[b].end());
    members_[b].clear();
  }

  // Whether a path from `from` to `to` leads through other groups; searches backward from the inputs of `to`.
  bool leaves_and_returns(size_t from, size_t to) const {
    std::vector<bool> seen(nodes_.size(), false);
    std::vector<size_t> open;
    const auto visit_sources = [&](size_t n, bool of_target) {
      for (const size_t s : sources_[n]) {
        if (seen[s] || (of_target && (group_[s] == from || group_[s] == to))) continue;
        seen[s] = true;
        open.push_back(s);
      }
    };
    for (const size_t n : members_[to]) visit_sources(n, true);
    while (!open.empty()) {
      const size_t n = open.back();
      open.pop_back();
      if (group_[n] == from) return true;
      if (group_[n] == kNone || group_[n] == to) {
        visit_sources(n, group_[n] == to);
        continue;
      }
      for (const size_t m : members_[group_[n]]) {  // a group depends on everything that its members read
        seen[m] = true;
        visit_sources(m, false);
      }
    }
    return false;
  }

  std::vector<const Node*> nodes_;
  std::vector<std::vector<size_t>> sources_, members_;
  std::vector<size_t> group_;
};

}  // namespace

std::vector<std::vector<const Node*>> groups_of(const Graph& graph, const std::function<bool(const Node&)>& claims) {
  Contraction contraction(graph);
  for (size_t n = 0; n < contraction.size(); ++n)
    if (claims(contraction.node(n))) contraction.claim(n);
  return contraction.groups();
}

}  // namespace providers
