// What errors call a node.
#pragma once
#include <string>

#include "ir/graph.h"

namespace retort {

/// "node 'conv1' (Conv)"; "node of output 'y' (Conv)" where the model gives it no name.
std::string describe(const Graph& graph, const Node& node);

/// The node's name; the name of its first output where the model gives it none.
const std::string& label(const Graph& graph, const Node& node);

/// "float32[batch,3]", "seq(int64[...])"
std::string type_text(const Graph& graph, const ValueType& type);
/// Numbers and texts as they are; of tensors type and shape, of long lists the kind.
std::string attribute_text(const Attribute& attribute);

}  // namespace retort
