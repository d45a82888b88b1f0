// Reports which provider runs which node of a model, why others do not, and what is copied between them: for the log
// and for session.placement.
#pragma once
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ep/partition.h"
#include "ep/provider.h"
#include "ep/spaces.h"

namespace retort {

/// Belongs to one plan while it is made. Its functions are called in this order.
class PlacementReport {
 public:
  /// Collects the model's nodes, with those of bodies, functions expanded, before any provider is asked.
  explicit PlacementReport(const std::shared_ptr<const Graph>& graph);
  /// `asked`: the providers, in the order in which they were asked. `left`: the graph without the nodes of parts.
  void take_parts(std::span<const Assignment> parts, std::span<const std::shared_ptr<Provider>> asked,
                  const Graph& left);
  /// Finds the nodes of the CPU that are left after the passes. The others are constants, are not needed, or were
  /// merged into another node.
  void take_lowered(const Graph& graph);
  /// `spaces`: empty without devices.
  void take_spaces(const Graph& graph, const GraphSpaces& spaces);
  /// Throws fail, with their names, if nodes run on the CPU.
  void forbid_cpu() const;

  /// "37 nodes: 30 on A in 2 parts, 5 on the CPU, 2 gone after optimisation; 3 copies at the borders"
  std::string summary() const;
  /// A line for each node, copy, input and output.
  std::vector<std::string> lines() const;
  /// The report as docs/placement.md describes it, on one line.
  std::string json() const;
  /// Writes json() to a file. Throws fail if that is not possible.
  void write(const std::string& path) const;

 private:
  struct Refusal {
    std::string provider, why;
  };
  struct Entry {
    std::shared_ptr<const Graph>
        graph;      ///< the model's, or a body in it: kept, since parts take nodes with their bodies
    size_t within;  ///< for a node in a body: the index of the entry of the node around it
    NodeId id;
    std::string name, domain, type;
    std::string provider, part;  ///< "": no provider has claimed it, so the CPU runs it
    bool gone = false;           ///< no step of the plan runs it
    std::vector<Refusal> others;
  };
  struct Port {
    std::string name;
    std::vector<MemorySpace> spaces;
  };
  void add(const std::shared_ptr<const Graph>& graph, size_t within);
  void forbid_rest(const Graph& graph, const std::set<std::string>& told);
  static std::string runs_on(const Entry& entry);

  std::vector<Entry> nodes_;
  std::vector<std::string> providers_;
  std::vector<Assignment> parts_;
  std::vector<Port> inputs_, outputs_;
  std::vector<BorderCopy> copies_;
  std::vector<std::string> on_cpu_;  ///< descriptions of the nodes that the CPU runs
};

}  // namespace retort
