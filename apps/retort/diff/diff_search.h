// Finds the first value in which two engines differ, and shows few values at a time: an engine that has to show a value
// cannot fuse the nodes around it, so showing a value may change the result.
#pragma once
#include <functional>
#include <set>
#include <vector>

namespace retort::cli {

/// Values in topological order: each comes after those that it is computed from.
struct ValueGraph {
  std::vector<std::vector<size_t>> made_from;  ///< the nearest upstream values that can be shown
};

struct DiffSearch {
  /// Compares these values (sorted) on both engines and returns those that differ.
  using Look = std::function<std::set<size_t>(const std::vector<size_t>&)>;

  struct Result {
    /// Differs although everything that it is computed from, except for `hidden`, agrees.
    size_t value = 0;
    /// Upstream values that hide the difference when they are shown, because fusing is prevented.
    std::vector<size_t> hidden;
    std::vector<size_t> agreeing;  ///< values that it, or hidden ones, are computed from
    size_t looks = 0;
  };
  /// `suspect` is known to differ. Shows up to `at_once` values besides the suspect.
  static Result run(const ValueGraph& graph, size_t suspect, size_t at_once, const Look& look);
};

}  // namespace retort::cli
