#include "passes/layout/min_cut.h"

#include <algorithm>
#include <deque>

namespace retort {

void MinCut::add_edge(uint32_t from, uint32_t to, double capacity) {
  if (from == to || capacity <= 0) return;
  edges_of_[from].push_back(uint32_t(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(uint32_t(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::level() {
  level_.assign(edges_of_.size(), -1);
  level_[kSource] = 0;
  std::deque<uint32_t> queue{kSource};
  while (!queue.empty()) {
    const uint32_t n = queue.front();
    queue.pop_front();
    for (uint32_t e : edges_of_[n]) {
      if (edges_[e].room <= 0 || level_[edges_[e].to] >= 0) continue;
      level_[edges_[e].to] = level_[n] + 1;
      queue.push_back(edges_[e].to);
    }
  }
  return level_[kSink] >= 0;
}

double MinCut::push(uint32_t node, double flow) {
  if (node == kSink) return flow;
  for (size_t& i = next_[node]; i < edges_of_[node].size(); ++i) {
    const uint32_t e = edges_of_[node][i];
    if (edges_[e].room <= 0 || level_[edges_[e].to] != level_[node] + 1) continue;
    const double done = push(edges_[e].to, std::min(flow, edges_[e].room));
    if (done <= 0) continue;
    edges_[e].room -= done;
    edges_[e ^ 1].room += done;
    return done;
  }
  return 0;
}

// Calls f for the nodes that residual edges lead to.
template <typename F>
std::vector<bool> MinCut::reached(uint32_t start, F&& open) const {
  std::vector<bool> seen(edges_of_.size());
  seen[start] = true;
  std::vector<uint32_t> left{start};
  while (!left.empty()) {
    const uint32_t n = left.back();
    left.pop_back();
    for (uint32_t e : edges_of_[n]) {
      if (seen[edges_[e].to] || !open(e)) continue;
      seen[edges_[e].to] = true;
      left.push_back(edges_[e].to);
    }
  }
  return seen;
}

std::vector<bool> MinCut::solve() {
  while (level()) {
    next_.assign(edges_of_.size(), 0);
    while (push(kSource, kInfinite) > 0) {
    }
  }
  std::vector<bool> source_side = reached(kSource, [](uint32_t e) { return e % 2 == 0; });
  const std::vector<bool> to_sink = reached(kSink, [this](uint32_t e) { return edges_[e ^ 1].room > 0; });
  for (size_t i = 0; i < source_side.size(); ++i) source_side[i] = source_side[i] && !to_sink[i];
  return source_side;
}

}  // namespace retort
