// Names of nodes and types in messages.
#pragma once
#include <string>

#include "ir/graph.h"

namespace retort {

/// "node 'conv1' (Conv)", or "node of output 'y' (Conv)" if the node has no name in the model.
std::string describe(const Graph& graph, const Node& node);

/// The node's name, or that of its first output if the node has no name in the model.
const std::string& label(const Graph& graph, const Node& node);

/// "float32[batch,3]", "seq(int64[...])"
std::string type_text(const Graph& graph, const ValueType& type);
/// Numbers and strings as they are; for tensors type and shape; for long lists the kind.
std::string attribute_text(const Attribute& attribute);

}  // namespace retort
