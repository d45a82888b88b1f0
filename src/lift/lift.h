// From the model's own dialect to the core dialect: every node takes the newest form of its operator, so that passes
// and kernels know one version of each.
#pragma once
#include <map>
#include <string>

#include "ir/graph.h"

namespace retort {

/// Lifts every node that has no `op` yet, bodies included: old forms become new ones, Constant nodes become constants,
/// operators are resolved and types inferred in topological order. Throws Error naming node, operator and opset.
void lift(Graph& graph);

/// Only makes Constant nodes constants of their graph, bodies included; all else keeps its form.
void lift_constants(Graph& graph);

/// The operator sets to import for a lifted graph: the oldest in which its nodes say what they mean, none older than
/// those of `opsets`, its model's.
std::map<std::string, int> lifted_opsets(const Graph& graph, std::map<std::string, int> opsets);

}  // namespace retort
