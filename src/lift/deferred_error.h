// Nodes that cannot run: in a body that may never run, that is an error of the run and not of the model.
#pragma once
#include "base/error.h"
#include "ir/graph.h"

namespace retort {

/// Makes `node`, a resolved node whose inputs do not fit its operator, one that throws `error` when it runs. Its
/// outputs keep the element types that are declared or follow from its inputs; their shapes are unknown.
void defer_error(Graph& graph, Node& node, const Error& error);

}  // namespace retort
