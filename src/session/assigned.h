// Which provider runs which nodes of the model, for session.record_ep_graph_assignment_info.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ep/partition.h"
#include "ir/graph.h"

namespace retort {

/// A node of the model, functions expanded.
struct AssignedNode {
  /// The node in its graph, then the nodes in whose bodies it lies, from the inside out.
  using Path = std::vector<std::pair<const Graph*, NodeId>>;
  std::string name, domain, type;
  Path path;  ///< valid until providers have cut out their parts
};

/// Nodes that a provider runs as one. The CPU runs each node alone.
struct AssignedPart {
  std::string provider;
  std::vector<AssignedNode> nodes;
};

/// All nodes of the graph and of its bodies as parts of the CPU, those of bodies before those around them.
std::vector<AssignedPart> parts_of_cpu(const Graph& graph);

/// Moves the nodes that providers took from the parts of the CPU to parts of the providers, which come first.
std::vector<AssignedPart> with_parts(std::vector<AssignedPart> of_cpu, std::span<const Assignment> parts);

}  // namespace retort
