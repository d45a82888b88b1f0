// Minimum cut between two ends of a directed graph, by Dinic's algorithm (Soviet Math. Dokl. 11, 1970).
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace retort {

class MinCut {
 public:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
  static constexpr uint32_t kSource = 0, kSink = 1;

  MinCut() : edges_of_(2) {}
  uint32_t add_node() {
    edges_of_.emplace_back();
    return uint32_t(edges_of_.size() - 1);
  }
  /// The cut costs `capacity` if `from` ends on the source's side and `to` on the sink's.
  void add_edge(uint32_t from, uint32_t to, double capacity);
  /// Returns true for the nodes on the source's side. Of all minimum cuts it is the one with the most nodes there that
  /// edges from the source reach. There must be a cut of finite cost.
  std::vector<bool> solve();

 private:
  struct Edge {
    uint32_t to;
    double room;
  };
  bool level();
  double push(uint32_t node, double flow);
  template <typename F>
  std::vector<bool> reached(uint32_t start, F&& open) const;

  std::vector<Edge> edges_;  // edge i; its reverse is i ^ 1
  std::vector<std::vector<uint32_t>> edges_of_;
  std::vector<int> level_;
  std::vector<size_t> next_;
};

}  // namespace retort
