// Lifts the model's own dialect to the core dialect: every node takes the newest form of its operator, so that passes
// and kernels know one version of each.
#pragma once
#include <map>
#include <string>

#include "base/log.h"
#include "ir/graph.h"
#include "ops/external.h"

namespace retort {

/// Lifts every node that has no `op` yet, including bodies: old forms become new ones, Constant nodes become constants,
/// operators are resolved and types inferred in topological order. Operators of `external` (may be null) take
/// precedence over the engine's own, and are not lifted. A node of a body whose inputs do not fit becomes one that
/// fails when it runs (deferred_error.h), since a body may never run. `logger` (may be null) receives a warning about
/// each such node, and about what else is wrong but has no effect. Throws Error naming node, operator and opset.
void lift(Graph& graph, const ExternalOps* external = nullptr, const Logger* logger = nullptr);

/// Whether there is a rule for an operator of this name, which may be an old one that was replaced by others.
bool is_liftable(const std::string& domain, const std::string& type);

/// Only turns Constant nodes into constants of their graph, including bodies; everything else keeps its form.
void lift_constants(Graph& graph);

/// The operator sets that a lifted graph must import: the oldest in which its nodes have their present meaning
/// and take the types that they have, but none older than those of `opsets`, its model's.
std::map<std::string, int> lifted_opsets(const Graph& graph, std::map<std::string, int> opsets);

}  // namespace retort
