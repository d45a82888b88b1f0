// The order in which the nodes of a graph run.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace retort {

enum class NodeOrder : uint8_t {
  model,     ///< that of the model, as far as nodes can run in it
  priority,  ///< Shape and Size first, as soon as their inputs exist; then that of the model
  memory,    ///< among the nodes that can run next, the one after which the least memory is in use
};

/// All live nodes of the graph, not of its bodies; every producer comes before its consumers.
std::vector<NodeId> ordered_nodes(const Graph& graph, NodeOrder order);

}  // namespace retort
