// Names of steps for messages and profiles.
#pragma once
#include "plan/model_nodes.h"
#include "plan/plan.h"

namespace retort {

/// Sets the name, label, operators and index of the step of `node`: those of the model's nodes that it computes, as far
/// as `nodes` knows them (null: of none). A node that only the engine has keeps its own name.
void name_step(Step& step, const Graph& graph, const Node& node, const ModelNodes* nodes);

}  // namespace retort
