// Finds the first value in which two engines differ, looking at few values at a time: an engine that has to show a value
// cannot fuse the nodes around it, so looking changes what is looked at.
#pragma once
#include <functional>
#include <set>
#include <vector>

namespace retort::cli {

/// Values in an order in which each comes after those that it is made from.
struct ValueGraph {
  std::vector<std::vector<size_t>> made_from;  ///< direct predecessors that can be looked at
};

struct DiffSearch {
  /// Looks at these values (sorted) in both engines; answers those that differ.
  using Look = std::function<std::set<size_t>(const std::vector<size_t>&)>;

  struct Result {
    size_t value = 0;              ///< differs while everything that it is made from, but `hidden`, agrees
    std::vector<size_t> hidden;    ///< values before it that hide the difference when they are looked at: fused away
    std::vector<size_t> agreeing;  ///< values that it, or hidden ones, are made from
    size_t looks = 0;
  };
  /// `suspect` is known to differ. Looks at up to `at_once` values besides the suspect.
  static Result run(const ValueGraph& graph, size_t suspect, size_t at_once, const Look& look);
};

}  // namespace retort::cli
