// Nodes that a saved model has in place of parts that a provider compiled, so that the same provider need not compile
// them again: ONNX Runtime calls them EPContext nodes.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace retort {

struct Assignment;

/// A stand-in node, as its provider made it.
struct StandIn {
  std::string domain, type, name;
  std::vector<std::string> inputs, outputs;  ///< names of values in the graph that the part was cut out of
  Attributes attributes;
};

/// Converts `copy`, a clone of the graph that partition() left, to one that can be saved: parts become their stand-ins.
/// Parts without one, and all parts in bodies, become their nodes again, in the layout that their provider has them in.
/// Throws ep_fail naming provider and part if a stand-in reads a value that the graph does not have, makes a value that
/// is not the part's or makes it twice, or omits a value that the rest of the model reads.
void put_stand_ins(Graph& copy, std::span<const Assignment> parts, const Graph& left);

}  // namespace retort
