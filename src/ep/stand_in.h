// Nodes that a model keeps in place of parts that a provider compiled, so that the same provider need not compile them
// again: what ONNX Runtime calls EPContext nodes.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace retort {

struct Assignment;

/// Such a node, as its provider made it.
struct StandIn {
  std::string domain, type, name;
  std::vector<std::string> inputs, outputs;  ///< names of values of the graph that the part was cut out of
  Attributes attributes;
};

/// Puts the stand-ins of the parts of `graph` in place of their nodes. `model` is what was given to partition(), as it was
/// before, and `graph` its graph after; parts of bodies stay as they were.
/// Throws ep_fail naming provider and part where a stand-in reads what the graph does not have, or leaves out what the
/// rest of the model reads.
void put_stand_ins(Model& model, std::span<const Assignment> parts, const Graph& graph);

}  // namespace retort
