// What errors call a node.
#pragma once
#include <string>

#include "ir/graph.h"

namespace retort {

/// "node 'conv1' (Conv)"; "node of output 'y' (Conv)" where the model gives it no name.
std::string describe(const Graph& graph, const Node& node);

}  // namespace retort
