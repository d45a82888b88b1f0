// The nodes of a model as its author wrote them, for messages and profiles: what a plan runs is lifted, fused and
// renamed.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "ir/graph.h"

namespace retort {

/// Operators and positions of nodes, by label (ir/describe.h). Thread-safe, except for add().
class ModelNodes {
 public:
  struct Known {
    std::string domain, type;
    uint32_t index = 0;      ///< among the nodes of its graph
    bool named = true;       ///< false: the label is the name of its output
    bool ambiguous = false;  ///< whether a node of another operator has the same label
  };
  /// Adds the nodes of a graph and its bodies. Of several nodes with one label, the first stays; it is ambiguous if the
  /// others are of another operator.
  void add(const Graph& graph);
  /// Null for a label that no node of the model has.
  const Known* find(const std::string& label) const;

 private:
  std::unordered_map<std::string, Known> by_label_;
};

}  // namespace retort
