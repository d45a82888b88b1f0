// Finds groups of connected nodes that can each become one node without a cycle.
#pragma once
#include <functional>

#include "graph.h"

namespace providers {

/// The nodes of `graph` for which `claims` holds, in groups, each in the graph's order. Two nodes are in one group if
/// one reads a result of the other, unless a path between members of the group would leave it and come back.
std::vector<std::vector<const Node*>> groups_of(const Graph& graph, const std::function<bool(const Node&)>& claims);

}  // namespace providers
