// Who runs which node of a model, why not another, and what is copied between them: for the log and session.placement.
#pragma once
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ep/partition.h"
#include "ep/place.h"
#include "ep/provider.h"

namespace retort {

/// Told of a session while it is made, step by step in this order.
class PlacementReport {
 public:
  /// The model's nodes, those of bodies among them, functions expanded, before anybody is asked.
  explicit PlacementReport(const std::shared_ptr<const Graph>& graph);
  /// `asked`: in this order. `left`: the graph without what was claimed.
  void take_parts(std::span<const Assignment> parts, std::span<const std::shared_ptr<Provider>> asked,
                  const Graph& left);
  /// What is left of the CPU's nodes after the passes: of others the value is known, nobody needs it, or another node does
  /// their work.
  void take_lowered(const Graph& graph);
  void take_placement(const Graph& graph, const Placement& placement);
  /// Throws fail, naming them, where nodes are the CPU's that run.
  void forbid_cpu() const;

  /// "37 nodes: 30 on A in 2 parts, 5 on the CPU, 2 gone after optimisation; 3 copies at the borders"
  std::string summary() const;
  /// A line per node and copy.
  std::vector<std::string> lines() const;
  /// As docs/placement.md says, on one line.
  std::string json() const;
  /// The same in a file; throws fail where that cannot be written.
  void write(const std::string& path) const;

 private:
  struct Refusal {
    std::string provider, why;
  };
  struct Entry {
    std::shared_ptr<const Graph>
        graph;      ///< the model's, or a body in it: kept, since parts take nodes with their bodies
    size_t within;  ///< for a body's: the entry of the node whose it is
    NodeId id;
    std::string name, domain, type;
    std::string provider, part;  ///< "" while nobody has claimed it: the CPU's
    bool gone = false;           ///< does not run as such
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
  std::vector<std::string> on_cpu_;  ///< nodes after optimisation, as errors call the model's
};

}  // namespace retort
