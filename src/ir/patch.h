// A rewrite: a small graph that is built separately and applied completely or not at all. A rule returns
// std::optional<Patch>; nullopt means that it does not apply.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace retort {

/// Built for one graph, which must not change before apply().
class Patch {
 public:
  explicit Patch(const Graph& graph) : next_(graph.value_count()) {}

  ValueId constant(Tensor tensor, std::string name_hint = "const");
  /// Adds a node with one output and returns that output.
  ValueId add(NodeSpec spec) { return add_multi(std::move(spec))[0]; }
  /// Adds a node with spec.outputs outputs.
  std::vector<ValueId> add_multi(NodeSpec spec);
  /// Makes all uses of `before` use `after`. If both types are known, they must agree.
  void replace(ValueId before, ValueId after) { replacements_.emplace_back(before, after); }
  /// Names the model nodes that the added nodes replace: their names become `origins`, and the new nodes get the
  /// position of the first one.
  void covers(std::initializer_list<NodeId> nodes) { covered_.insert(covered_.end(), nodes); }
  void covers(NodeId node) { covered_.push_back(node); }

  std::span<const std::pair<ValueId, ValueId>> replacements() const { return replacements_; }

  /// Applies to the graph for which it was built. Returns the ids of the new nodes, in the order of add(). Nodes whose
  /// outputs became unused are left for dead-code removal. Throws invalid_graph if a type would change.
  std::vector<NodeId> apply(Graph& graph) &&;

 private:
  struct Constant {
    std::string name;
    Tensor tensor;
    ValueId id;
  };
  struct Added {
    NodeSpec spec;
    std::vector<ValueId> outputs;
  };
  void check_types(const Graph& graph) const;
  std::vector<std::string> origins(const Graph& graph) const;

  size_t next_;
  std::vector<std::pair<bool, size_t>> sequence_;  // in order of id: (is constant, index)
  std::vector<Constant> constants_;
  std::vector<Added> nodes_;
  std::vector<std::pair<ValueId, ValueId>> replacements_;
  std::vector<NodeId> covered_;
};

}  // namespace retort
