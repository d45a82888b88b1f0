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

/// Makes of `copy`, a clone of the graph that partition() left, one that can be saved: parts become their stand-ins, others,
/// and all those in bodies, their nodes again, in the layout that their provider has them in.
/// Throws ep_fail naming provider and part where a stand-in reads what the graph does not have, makes what is not the
/// part's or makes it twice, or leaves out what the rest of the model reads.
void put_stand_ins(Graph& copy, std::span<const Assignment> parts, const Graph& left);

}  // namespace retort
